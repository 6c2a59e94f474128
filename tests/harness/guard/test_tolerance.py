"""What runs may excuse of an edited test: its own cases decide, and no namesake's."""

from __future__ import annotations

import pytest

from domain.model import Finding, Severity
from harness.guard.tolerance import EditedTest, Seen, excused
from harness.testing.cases import Case, CaseOutcome

PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED
FINDING = Finding(rule="RH002", path="t", line=1, what="less", why="", severity=Severity.CRITICAL)


def case(name: str, outcome: CaseOutcome = PASSED, file: str = "tests/test_a.py") -> Case:
    return Case(id=f"{file}::{name}", file=file, name=name, outcome=outcome)


def is_excused(name: str, original: list[Case], greened: list[Case], file: str = "tests/test_a.py") -> bool:
    edit = EditedTest((file, name), (file, name), must_show=True)
    (finding,) = excused([FINDING], {FINDING: edit}, Seen(original=original, greened=greened))
    return finding.severity is Severity.WARNING


def test_a_namesake_in_another_class_shows_nothing_for_a_test() -> None:
    both = [case("test_x"), case("TestB::test_x")]

    assert is_excused("test_x", both, [case("test_x")])
    assert not is_excused("test_x", both, [case("TestB::test_x")])
    assert not is_excused("test_x", [case("TestB::test_x")], [case("TestB::test_x")])
    assert not is_excused("TestA::test_x", [case("TestA::test_x", FAILED), case("test_x")], [case("test_x")])


def test_every_case_of_a_table_counts() -> None:
    assert is_excused("test_x", [case("test_x[1]"), case("test_x[2]")], [case("test_x[3]")])
    assert not is_excused("test_x", [case("test_x[1]"), case("test_x[2]", FAILED)], [case("test_x[1]")])


@pytest.mark.parametrize("reported", ["add adds", "add > adds", "add.adds", "adds"])
def test_runners_join_suites_as_they_like(reported: str) -> None:
    own = [case(reported, file="a.test.js")]

    assert is_excused("add › adds", own, own, file="a.test.js")


def test_a_namesake_in_another_suite_shows_nothing() -> None:
    own, other = case("add adds", file="a.test.js"), case("sub adds", file="a.test.js")

    assert not is_excused("add › adds", [own, other], [other], file="a.test.js")


def test_without_the_run_nothing_is_said() -> None:
    edit = EditedTest(("t", "x"), ("t", "x"), must_show=False)

    assert excused([FINDING], {FINDING: edit}, Seen(original=None, greened=[])) == (FINDING,)
