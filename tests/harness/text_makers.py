"""Tasks, verdicts and claims to write texts about."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from domain.claim import Claim
from domain.model import Actor, Category, IssueRef, RunStatus, Suspect, Task, TestRun, Verdict
from domain.states import State
from harness import pull_text

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
TREE = "a" * 40


def a_task(title: str = "It breaks", body: str = "") -> Task:
    return Task(
        id=7,
        issue=IssueRef(forge="local", repository_id="1", number=12),
        repository_name="acme/shop",
        category=Category.BUG,
        title=title,
        body=body,
        requested_by=Actor(id="5", login="mika"),
        state=State.RUNNING,
        created_at=NOW,
        updated_at=NOW,
    )


def a_run(name: str, status: RunStatus, **changes: object) -> TestRun:
    values: dict[str, object] = {
        "name": name,
        "command": "python3 -m pytest -q",
        "tree": TREE,
        "status": status,
        "exit_code": 0 if status is RunStatus.PASSED else 1,
        "seconds": 1.25,
        "passed": 3,
        "failed": 0 if status is RunStatus.PASSED else 1,
        "skipped": 0,
    }
    return TestRun(**{**values, **changes})  # type: ignore[arg-type]


def a_verdict(**changes: object) -> Verdict:
    values: dict[str, object] = {
        "verified": True,
        "summary": "1 test red before and green after",
        "base_sha": "b" * 40,
        "tree": TREE,
        "runs": (a_run("base + new tests", RunStatus.FAILED), a_run("fixed", RunStatus.PASSED)),
        "findings": (),
        "turned_green": ("tests/test_a.py::test_it",),
        "broken": (),
        "isolation": "bubblewrap, separate uid",
    }
    return Verdict(**{**values, **changes})  # type: ignore[arg-type]


def a_claim(**changes: object) -> Claim:
    values = {"root_cause": "A slip.", "changes": "Mended.", "test_commands": ["pytest -q"]}
    return Claim.model_validate({**values, **changes})


def facts(**changes: object) -> pull_text.PullFacts:
    values: dict[str, object] = {
        "task": a_task(),
        "verdict": a_verdict(),
        "claim": a_claim(),
        "suspects": (Suspect(path="a.py", symbol="f", score=1, first_line=3, last_line=9, why=""),),
        "cost": Decimal("0.0123"),
        "steps": 6,
        "model": "openai/x",
        "attempt_number": 1,
    }
    return pull_text.PullFacts(**{**values, **changes})  # type: ignore[arg-type]
