"""The one-time code: it opens once, not for long, and cannot be guessed by trying."""

from __future__ import annotations

import pytest

from app.github_app.lock import CODE_SECONDS, TRIES, TRIES_OF_ALL, Answer, CodeLock
from tests.app.github_app.conftest import Hours


@pytest.fixture
def codes() -> list[str]:
    return []


@pytest.fixture
def lock(codes: list[str], hours: Hours) -> CodeLock:
    lock = CodeLock(codes.append, now=hours.now)
    lock.renew()
    return lock


def test_the_code_opens_once(lock: CodeLock, codes: list[str]) -> None:
    answer, session = lock.open(codes[0], "a")
    assert answer is Answer.OPENED and lock.is_open(session)
    assert lock.open(codes[0], "a")[0] is Answer.WRONG
    assert lock.is_open(session)


@pytest.mark.parametrize("change", [str.lower, lambda c: c.replace("-", ""), lambda c: f"  {c}\n"])
def test_how_people_copy_it_does_not_matter(lock: CodeLock, codes: list[str], change) -> None:  # type: ignore[no-untyped-def]
    assert lock.open(change(codes[0]), "a")[0] is Answer.OPENED


@pytest.mark.parametrize("typed", ["", "-", "A", "AAAA-AAAA-AAAA-AAAA", "é" * 16, "\ud800", "x" * 9999])
def test_anything_else_opens_nothing(lock: CodeLock, typed: str) -> None:
    assert lock.open(typed, "a") == (Answer.WRONG, "")
    assert not lock.is_open("") and not lock.is_open(typed)


def test_an_empty_code_is_not_the_code_that_was_used_up(lock: CodeLock, codes: list[str]) -> None:
    lock.open(codes[0], "a")
    assert lock.open("", "a")[0] is Answer.WRONG


def test_a_code_is_not_good_for_long_and_the_next_one_is_told_once(
    lock: CodeLock, codes: list[str], hours: Hours
) -> None:
    hours.passed = CODE_SECONDS - 1
    lock.renew()
    assert len(codes) == 1
    hours.passed = CODE_SECONDS
    assert lock.open(codes[0], "a")[0] is Answer.WRONG
    lock.renew()
    lock.renew()
    assert len(codes) == len(set(codes)) == 2
    assert lock.open(codes[0], "a")[0] is Answer.WRONG
    assert lock.open(codes[1], "a")[0] is Answer.OPENED


def test_an_open_page_closes_again_and_no_other_code_is_told_before(
    lock: CodeLock, codes: list[str], hours: Hours
) -> None:
    _, session = lock.open(codes[0], "a")
    lock.renew()
    assert len(codes) == 1
    hours.passed = CODE_SECONDS
    assert not lock.is_open(session)


def test_who_tries_too_often_is_told_to_wait(lock: CodeLock, hours: Hours) -> None:
    for _ in range(TRIES):
        assert lock.open("x", "a")[0] is Answer.WRONG
    assert lock.open("x", "a")[0] is Answer.TOO_OFTEN
    assert lock.open("x", "b")[0] is Answer.WRONG, "others are not"
    hours.passed = 61
    assert lock.open("x", "a")[0] is Answer.WRONG


def test_many_who_try_are_told_to_wait_together(lock: CodeLock) -> None:
    for number in range(TRIES_OF_ALL):
        lock.open("x", str(number))
    assert lock.open("x", "another")[0] is Answer.TOO_OFTEN


def test_nobody_keeps_the_operator_out_by_guessing(lock: CodeLock, codes: list[str]) -> None:
    for _ in range(TRIES_OF_ALL):
        lock.open("x", "the proxy")
    assert lock.open(codes[0], "the proxy")[0] is Answer.OPENED


def test_a_form_is_of_one_session_and_one_process(lock: CodeLock) -> None:
    stamp = lock.stamp("s")
    assert lock.is_stamp("s", stamp)
    assert not lock.is_stamp("t", stamp)
    assert not lock.is_stamp("s", "")
    assert not lock.is_stamp("", lock.stamp(""))
    assert not CodeLock(print).is_stamp("s", stamp)


def test_codes_are_long_and_never_the_same() -> None:
    codes: list[str] = []
    for _ in range(200):
        CodeLock(codes.append).renew()
    assert len(set(codes)) == 200 and {len(code.replace("-", "")) for code in codes} == {16}
