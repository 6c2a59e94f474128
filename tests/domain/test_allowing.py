"""What may be allowed from a comment: how it is named, what it takes for a change to be clear, what never."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.allowing import Allowance, AllowRefusal, asked_about, decide_allowance, is_cleared, named_change
from domain.model import Actor, Category, Finding, IssueRef, ProtectedChange, Severity, Task, Verdict
from domain.states import State

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CHANGE = "0123456789" * 4
FIRST, SECOND = "RH002-0123456789abcdef", "RH003-fedcba9876543210"


def a_finding(identity: str, severity: Severity = Severity.CRITICAL) -> Finding:
    rule = identity.partition("-")[0] or "SECRET-TOKEN"
    return Finding(rule=rule, path="a.py", line=1, what="x", why="y", severity=severity, id=identity)


def a_verdict(*findings: Finding, protected: ProtectedChange | None = None) -> Verdict:
    return Verdict(
        verified=False,
        summary="",
        base_sha="",
        tree="",
        runs=(),
        findings=findings,
        turned_green=(),
        broken=(),
        isolation="",
        protected=protected,
    )


def words(*names: str) -> list[Allowance]:
    by = Actor(id="7", login="mika")
    return [Allowance(change=name, by=by, comment_id="1", at=NOW) for name in names]


TASK = Task(
    id=1,
    issue=IssueRef(forge="local", repository_id="1", number=2),
    repository_name="acme/lamp",
    category=Category.BUG,
    title="",
    body="",
    requested_by=Actor(id="7", login="mika"),
    state=State.BLOCKED,
    created_at=NOW,
    updated_at=NOW,
)


@pytest.mark.parametrize(
    ("comment", "named"),
    [
        (f"/fixwright allow {CHANGE}", CHANGE),
        (f"/fixwright allow {FIRST}", FIRST),
        (f"/FixWright  ALLOW\t{FIRST.lower()}  \r\nplease", FIRST),
        (f"/fixwright allow {FIRST.upper()}", FIRST),
        ("/fixwright allow secret-token", "SECRET-TOKEN"),
        ("/fixwright allow rh004", "RH004"),
        (f"/fixwright allow {FIRST[:-1]}", None),
        (f"/fixwright allow {FIRST} {SECOND}", None),
        (f"/fixwright allow {FIRST},{SECOND}", None),
        (f"/fixwright allow `{FIRST}`", None),
        ("/fixwright allow RH002", None),
        ("/fixwright allow RH002-\u0660123456789abcdef", None),
        (f"/fixwright allow {'a' * 100_000}", None),
        (f"> /fixwright allow {FIRST}", None),
        ("/fixwright allow", None),
    ],
)
def test_what_a_comment_names(comment: str, named: str | None) -> None:
    assert named_change(comment) == named


def test_a_change_is_clear_when_all_that_refuses_it_is_allowed() -> None:
    verdict = a_verdict(a_finding(FIRST), a_finding(SECOND), a_finding("RH006-" + "0" * 16, Severity.WARNING))
    assert asked_about(verdict) == (FIRST, SECOND)
    assert not is_cleared(verdict, words(FIRST))
    assert is_cleared(verdict, words(SECOND, CHANGE, FIRST))


def test_protected_paths_are_cleared_by_their_own_name() -> None:
    verdict = a_verdict(a_finding(""), protected=ProtectedChange(name=CHANGE, paths=("ci.yml",)))
    assert asked_about(verdict) == (CHANGE,)
    assert is_cleared(verdict, words(CHANGE)) and not is_cleared(verdict, words(FIRST))


@pytest.mark.parametrize("never", ["", "RH004-0123456789abcdef"])
def test_nobody_is_asked_where_something_stands_that_cannot_be_waived(never: str) -> None:
    verdict = a_verdict(a_finding(FIRST), a_finding(never))
    assert asked_about(verdict) == ()
    assert not is_cleared(verdict, words(FIRST, never))


def test_nothing_that_refuses_is_nothing_to_clear() -> None:
    assert not is_cleared(a_verdict(), words(FIRST))
    assert not is_cleared(a_verdict(a_finding(FIRST, Severity.WARNING)), words(FIRST))


@pytest.mark.parametrize(
    ("named", "state", "permitted", "decision"),
    [
        (FIRST, State.BLOCKED, True, FIRST),
        (FIRST, State.RUNNING, True, FIRST),
        (FIRST, State.BLOCKED, False, AllowRefusal.NOT_PERMITTED),
        (FIRST, State.CANCELLED, True, AllowRefusal.ENDED),
        (SECOND, State.BLOCKED, True, AllowRefusal.NOT_WAITING),
        (None, State.BLOCKED, True, AllowRefusal.NOT_A_NAME),
        ("RH004-0123456789abcdef", State.BLOCKED, True, AllowRefusal.NEVER),
        ("RH004", State.BLOCKED, True, AllowRefusal.NEVER),
        ("CHANGE-GITLINK", State.BLOCKED, True, AllowRefusal.NEVER),
    ],
)
def test_who_may_allow_what_and_when(
    named: str | None, state: State, permitted: bool, decision: str | AllowRefusal
) -> None:
    task = replace(TASK, state=state)
    assert decide_allowance(named, task, waiting={FIRST}, permitted=permitted) == decision
