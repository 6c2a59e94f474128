"""Facts for receipts, as the domain's tests and others want them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from domain.model import (
    Actor,
    Attempt,
    Category,
    Check,
    Finding,
    IssueRef,
    Outcome,
    RunStatus,
    Severity,
    Suspect,
    Task,
    TestRun,
    Verdict,
)
from domain.receipt import ReceiptFacts, TranscriptMark
from domain.states import State

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TREE, BASE = "a" * 40, "b" * 40

TASK = Task(
    id=7,
    issue=IssueRef(forge="local", repository_id="42", number=3),
    repository_name="acme/shop",
    category=Category.BUG,
    title="Totals are wrong",
    body="Seen in 2.1",
    requested_by=Actor(id="9", login="mia"),
    state=State.RUNNING,
    created_at=NOON,
    updated_at=NOON,
)
ATTEMPT = Attempt(id=11, task_id=7, number=2, started_at=NOON, base_sha=BASE)
RUN = TestRun(
    name="fixed",
    command="pytest -q",
    tree=TREE,
    status=RunStatus.PASSED,
    exit_code=0,
    seconds=1.2345,
    passed=2,
    failed=0,
    skipped=0,
    passed_ids=frozenset({"t.py::b", "t.py::a"}),
)
VERDICT = Verdict(
    verified=True,
    summary="1 failing before and passing now.",
    base_sha=BASE,
    tree=TREE,
    runs=(RUN,),
    findings=(
        Finding(
            rule="RH007", path="a.py", line=3, what="many", why="hard to review", severity=Severity.WARNING
        ),
    ),
    turned_green=("t.py::a",),
    broken=(),
    isolation="bubblewrap, separate uid",
    checks=(Check(name="links", status=RunStatus.PASSED, what="of 1 document"),),
)


def facts(**changes: object) -> ReceiptFacts:
    """Return the facts of a verified attempt, with what is to differ."""
    plain = ReceiptFacts(
        version="1.0",
        task=TASK,
        attempt=ATTEMPT,
        outcome=Outcome.VERIFIED,
        reason=None,
        verdict=VERDICT,
        suspects=(Suspect(path="a.py", symbol="total", score=0.75, first_line=3, last_line=9, why="named"),),
        model="openai/scripted",
        calls=4,
        cost=Decimal("0.123"),
        issue_cost=Decimal("0.5"),
        isolation="never asked",
        transcript=TranscriptMark(sha256="c" * 64, size=120),
        at=NOON,
        claimed=("make test",),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # the tests' own names
