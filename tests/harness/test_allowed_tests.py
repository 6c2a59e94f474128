"""What an allowed finding lets go of: the test that it names, and no other."""

from __future__ import annotations

import pytest

from domain.model import Finding, Severity
from harness.allowed_tests import still_binding, still_missed
from harness.guard.tolerance import EditedTest


def allowed(rule: str, what: str, *, by: str = "mika", path: str = "tests/test_a.py") -> Finding:
    return Finding(rule=rule, path=path, line=3, what=what, why="", severity=Severity.WARNING, allowed_by=by)


WEAKER = allowed("RH002", "`test_sum` no longer expects 3: changed to 4")


@pytest.mark.parametrize(
    ("entry", "finding", "binds"),
    [
        ("tests/test_a.py::test_sum", WEAKER, False),
        ("tests/test_a.py::test_sum[1-2]", WEAKER, False),
        ("tests/test_a.py::TestA::test_sum", WEAKER, False),
        ("test_a.py::TestA.test_sum", WEAKER, False),
        ("tests/test_a.py::test_sum_of_all", WEAKER, True),
        ("tests/test_a.py::test_my_test_sum", WEAKER, True),
        ("tests/test_b.py::test_sum", WEAKER, True),
        ("tests/test_a.py::test_sum", allowed("RH002", WEAKER.what, by=""), True),
        ("tests/test_a.py::test_sum", allowed("RH003", "`test_sum` swallows errors"), True),
        (
            "tests/test_a.py::test_any",
            allowed("RH001", "the test file is deleted, and with it 3 tests"),
            False,
        ),
        ("tests/test_a.py::[b]", allowed("RH002", "`[a]` makes 1 assertions, it made 2"), True),
        ("tests/test_a.py::test_any", allowed("RH001", "tests of this file are now skipped"), True),
        ("2 fewer tests", WEAKER, True),
        ("tests/test_a.py::add adds", allowed("RH002", "`add › adds` makes 1 assertions, it made 2"), False),
        ("tests/test_a.py::sub adds", allowed("RH002", "`add › adds` makes 1 assertions, it made 2"), True),
    ],
)
def test_an_original_test_binds_unless_its_own_finding_is_allowed(
    entry: str, finding: Finding, binds: bool
) -> None:
    assert still_binding((entry,), (finding,)) == ((entry,) if binds else ())


def test_an_allowed_removal_excuses_a_test_that_is_gone_and_none_that_fails() -> None:
    gone = allowed("RH001", "the test `test_sum` is removed")
    entries = ("tests/test_a.py::test_sum (gone)", "tests/test_a.py::test_other (gone)")
    assert still_missed(entries, (gone,), ()) == entries[1:]
    assert still_missed(entries[:1], (WEAKER,), ()) == entries[:1]
    failing = ("tests/test_a.py::test_sum",)
    assert still_missed(failing, (gone,), failing) == failing


CASES = EditedTest(("tests/test_a.py", "TestA::test_sum"), ("tests/test_a.py", "TestA::test_sum"), False)
RENAMED = EditedTest(("tests/test_a.py", "test_old"), ("tests/test_a.py", "test_new"), True)


@pytest.mark.parametrize(
    ("entry", "is_missed"),
    [
        ("tests/test_a.py::TestA::test_sum[0] (gone)", False),
        ("tests/test_a.py::TestA::test_sum[0] (now skipped)", True),
        ("tests/test_a.py::TestA::test_sum (gone)", True),
        ("tests/test_b.py::TestA::test_sum[0] (gone)", True),
        ("tests/test_a.py::test_old (gone)", False),
        ("tests/test_a.py::test_new (gone)", True),
    ],
)
def test_an_allowed_edit_excuses_single_cases_and_an_old_name(entry: str, is_missed: bool) -> None:
    assert still_missed((entry,), (), (), (CASES, RENAMED)) == ((entry,) if is_missed else ())
    assert still_missed((entry,), (), (entry.partition(" ")[0],), (CASES, RENAMED)) == (entry,)


def test_an_allowed_edit_lets_go_of_the_test_as_it_was() -> None:
    entries = (
        "tests/test_a.py::TestA::test_sum[0]",
        "tests/test_a.py::test_old",
        "tests/test_a.py::test_other",
    )

    assert still_binding(entries, (), (CASES, RENAMED)) == entries[2:]
