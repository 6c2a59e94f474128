"""When an issue is left alone and when a pull request waits, on plain values."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.manners import PullPace, assigned_to, closing_pull, is_ignored, twin_of, why_wait
from domain.model import Actor, Issue, IssueRef, Pull
from domain.ports.contracts import PullCount
from domain.states import State
from tests.harness.text_makers import a_task

ME, MIKA, ADA = Actor(id="1", login="bot"), Actor(id="5", login="mika"), Actor(id="9", login="ada")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def issue(*assignees: Actor) -> Issue:
    return Issue(
        number=12, title="", body="", is_open=True, labels=(), author=ADA, url="", assignees=assignees
    )


def pull(body: str, *, title: str = "x", author: Actor | None = ADA, is_open: bool = True) -> Pull:
    return Pull(
        number=3,
        url="",
        title=title,
        body=body,
        head_branch="h",
        head_sha="",
        base_branch="main",
        is_open=is_open,
        is_draft=False,
        author=author,
    )


@pytest.mark.parametrize(
    ("assignees", "login"), [((), ""), ((ME,), ""), ((MIKA,), ""), ((MIKA, ADA), "ada"), ((ADA,), "ada")]
)
def test_an_issue_is_somebody_elses_if_it_is_neither_ours_nor_the_askers(
    assignees: tuple[Actor, ...], login: str
) -> None:
    assert assigned_to(a_task(), issue(*assignees), ME) == login


@pytest.mark.parametrize(
    "text", ["Fixes #12", "closes: #12", "This RESOLVED acme/shop#12, at last", "a\nfix #12\nb"]
)
def test_a_pull_request_that_closes_the_issue_is_seen(text: str) -> None:
    assert closing_pull(12, [pull(text)], ME) is not None
    assert closing_pull(12, [pull("", title=text)], ME) is not None


@pytest.mark.parametrize(
    "text", ["Refs #12", "Fixes #123", "Fixes #1", "prefixes #12", "#12", "fixes 12", ""]
)
def test_one_that_only_speaks_of_it_is_not(text: str) -> None:
    assert closing_pull(12, [pull(text)], ME) is None


def test_our_own_and_closed_ones_do_not_count_and_long_ones_are_no_trouble() -> None:
    assert closing_pull(12, [pull("Fixes #12", author=ME), pull("Fixes #12", is_open=False)], ME) is None
    assert closing_pull(12, [pull("Fixes #12", author=None)], ME) is not None
    assert closing_pull(12, [pull("fixes " * 200_000), pull("fixes\t" + "a" * 10**6)], ME) is None


def test_a_twin_is_an_older_task_at_work_on_the_same_text_of_the_same_repository() -> None:
    task = a_task(body="It does.")
    twin = replace(task, id=3, state=State.IN_REVIEW)
    assert twin_of(task, [twin]) is twin
    for other in (
        replace(twin, id=9),
        replace(twin, state=State.BLOCKED),
        replace(twin, body="It does not."),
        replace(twin, issue=IssueRef(forge="local", repository_id="2", number=1)),
    ):
        assert twin_of(task, [other]) is None
    assert twin_of(replace(task, body=" "), [replace(twin, body=" ")]) is None


@pytest.mark.parametrize(
    ("count", "pace", "says"),
    [
        (PullCount(9, 9), PullPace(), ""),
        (PullCount(2, 0), PullPace(most_open=3), ""),
        (PullCount(3, 0), PullPace(most_open=3), "3 pull requests of mine are open"),
        (PullCount(1, 0), PullPace(most_open=1), "1 pull request of mine is open"),
        (PullCount(0, 2), PullPace(most_new_per_hour=2), "opened 2 pull requests in this repository within"),
        (PullCount(5, 1), PullPace(most_open=9, most_new_per_hour=2), ""),
    ],
)
def test_a_new_pull_request_waits_for_room(count: PullCount, pace: PullPace, says: str) -> None:
    why = why_wait(count, pace)
    assert says in why and bool(why) is bool(says)


@pytest.mark.parametrize(
    ("state", "days", "heard_days", "ignored"),
    [
        (State.IN_REVIEW, 31, None, True),
        (State.IN_REVIEW, 30, None, True),
        (State.IN_REVIEW, 29, None, False),
        (State.IN_REVIEW, 60, 2, False),
        (State.IN_REVIEW, 60, 40, True),
        (State.BLOCKED, 60, None, False),
    ],
)
def test_a_draft_is_ignored_when_nobody_has_said_a_word(
    state: State, days: int, heard_days: int | None, ignored: bool
) -> None:
    task = replace(a_task(), state=state, updated_at=NOW - timedelta(days=days))
    heard = None if heard_days is None else NOW - timedelta(days=heard_days)
    assert is_ignored(task, heard, NOW, timedelta(days=30)) is ignored
    assert not is_ignored(task, heard, NOW, timedelta(0))
