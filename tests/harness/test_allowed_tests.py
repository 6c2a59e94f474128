"""What an allowed finding lets go of: the test that it names, and no other."""

from __future__ import annotations

import pytest

from domain.model import Finding, Severity
from harness.allowed_tests import still_binding, still_missed


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
