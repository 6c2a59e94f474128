"""A database with a task in every state, written through the real store, for the console's tests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from domain.claim import Claim, Restatement
from domain.envelope import wrap
from domain.events import IssueLabelled, Uninteresting
from domain.model import (
    Actor,
    Attempt,
    Category,
    Finding,
    IssueRef,
    Outcome,
    Phase,
    PublicationKind,
    Pull,
    Reason,
    RunStatus,
    Severity,
    Task,
    TestRun,
    Usage,
    Verdict,
)
from domain.policy import Serving
from domain.ports import Admission, Delivery, Intent, Landing
from domain.receipt import Receipt, hash_of, payload_of
from domain.states import Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.tasks import SqliteTaskQueue
from tests.domain.receipts import TREE, facts

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)

HOSTILE = '<img src=x onerror="alert(1)"> & "quotes" \x1b[31m \u202e'
"""What an attacker would put wherever text is taken."""


@dataclass
class FixedClock:
    """A clock that moves when told."""

    moment: datetime = NOON

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()


class Story:
    """Makes tasks and takes them through their lives."""

    def __init__(self, database: Database) -> None:
        database.migrate()
        self.clock = FixedClock()
        self.inbox = SqliteInbox(database, {"bug": Category.BUG})
        self.queue = SqliteTaskQueue(database, self.clock)
        self.ledger = SqliteLedger(database, self.clock)
        self.receipts = SqliteReceipts(database, self.clock)
        self.serving = Serving(
            repositories=frozenset({"local:acme/shop"}), own_ids={}, labels={"bug": Category.BUG}
        )
        self.forge = "local"
        self.replay_admission = Admission.SIGNAL
        self._number = 0

    def labelled(
        self, title: str, body: str = "Steps: …", *, repository: str = "acme/shop", place: str = "42"
    ) -> Task:
        """Let a maintainer label an issue, and return its task."""
        self._number += 1
        issue = IssueRef(forge=self.forge, repository_id=place, number=self._number)
        event = IssueLabelled(
            issue=issue,
            repository_name=repository,
            actor=Actor(id="9", login="mia"),
            label="bug",
            title=title,
            body=body,
        )
        admitted = self.inbox.accept([self._delivery(event)], lambda _: Admission.QUEUED)[0]
        assert admitted.task_id is not None
        return self.queue.task(admitted.task_id)

    def ignored(self, why: str) -> None:
        """Let a delivery come that means nothing."""
        self._number += 1
        event = Uninteresting(why=why)
        self.inbox.accept([self._delivery(event)], lambda _: Admission.UNINTERESTING)

    def running(self, title: str, body: str = "Steps: …") -> tuple[Task, Attempt]:
        """Let the worker take the only queued task."""
        self.labelled(title, body)
        task = self.queue.claim("worker-1/a", 60)
        assert task is not None
        attempt = self.queue.begin_attempt(task)
        self.phase(attempt, "prepare", 0.4)
        return task, attempt

    def phase(self, attempt: Attempt, name: str, seconds: float, cost: str = "0", note: str = "") -> None:
        self.queue.add_phase(
            attempt,
            Phase(name=name, started_at=self.clock.now(), seconds=seconds, cost=Decimal(cost), note=note),
        )

    def spend(self, task: Task, attempt: Attempt, dollars: str) -> None:
        amount = Decimal(dollars)
        held = self.ledger.reserve(task, attempt, model="m", decide=lambda _: (100, amount))
        self.ledger.settle(held, usage=Usage(input_tokens=1), cost=amount, billed=None)

    def blocked(self, title: str, reason: Reason, detail: str = "") -> Task:
        task, attempt = self.running(title)
        self.queue.end_attempt(attempt, Outcome.UNVERIFIED)
        return self.queue.move(task, Trigger.BLOCKED, Landing(reason=reason, detail=detail))

    def in_review(self, title: str, url: str = "https://forge.example/acme/shop/pulls/12") -> Task:
        """Take a task all the way to a verified draft pull request."""
        task, attempt = self.running(title, "It is 1 cent too high.\n\n    total([0])\n")
        self.queue.save_report(attempt, restatement=RESTATEMENT, claim=CLAIM)
        self.spend(task, attempt, "0.0123")
        self.phase(attempt, "agent", 71.3, "0.0123", "9 steps")
        self.phase(attempt, "verify", 3.25)
        self.queue.save_verdict(attempt, VERDICT)
        publication = self.queue.intend(
            task,
            attempt,
            Intent(
                kind=PublicationKind.PULL,
                branch="fixwright/issue-1",
                commit_sha="c" * 40,
                tree="d" * 40,
                expected_sha="",
                title=title,
                body="",
            ),
        )
        self.queue.published(publication, pull=_pull(url))
        self.queue.end_attempt(attempt, Outcome.VERIFIED)
        return self.queue.move(task, Trigger.PUBLISHED)

    def receipt(self, attempt: Attempt) -> Receipt:
        """Write the receipt of a verified change."""

        def write(previous: str) -> tuple[str, bytes]:
            payload = payload_of(facts(), previous, str)
            return hash_of(payload), wrap(payload, key_id="k" * 64, signature=b"s" * 64)

        return self.receipts.append(attempt, Outcome.VERIFIED, TREE, write)

    def _delivery(self, event: IssueLabelled | Uninteresting) -> Delivery:
        name = f"delivery-{self._number}"
        return Delivery(
            provider="local",
            delivery_id=name,
            body_sha256=hashlib.sha256(name.encode()).hexdigest(),
            body=name.encode(),
            received_at=self.clock.now(),
            event=event,
        )


def _pull(url: str) -> Pull:
    return Pull(
        number=12,
        url=url,
        title="Fix",
        body="",
        head_branch="fixwright/issue-1",
        head_sha="c" * 40,
        base_branch="main",
        is_open=True,
        is_draft=True,
    )


def _run(name: str, status: RunStatus, *, failed: int, tail: str = "") -> TestRun:
    return TestRun(
        name=name,
        command="python -m pytest -q tests",
        tree="d" * 40,
        status=status,
        exit_code=1 if failed else 0,
        seconds=1.07,
        passed=31 - failed,
        failed=failed,
        skipped=2,
        tail=tail,
    )


VERDICT = Verdict(
    verified=True,
    summary="The new test fails without the change and passes with it; the whole suite passes.",
    base_sha="b" * 40,
    tree="d" * 40,
    runs=(
        _run("new tests on the old code", RunStatus.FAILED, failed=1, tail=f"E assert 1 == 0\n{HOSTILE}"),
        _run("new tests on the new code", RunStatus.PASSED, failed=0),
        _run("whole suite on the new code", RunStatus.PASSED, failed=0),
    ),
    findings=(
        Finding(
            rule="RH104",
            path="tests/test_total.py",
            line=14,
            what="A tolerance was widened.",
            why="Loose assertions hide faults.",
            severity=Severity.WARNING,
        ),
    ),
    turned_green=("tests/test_total.py::test_free",),
    broken=(),
    isolation="bubblewrap: no network, own user, own processes",
)

RESTATEMENT = Restatement(
    expected="The total of a free item is 0.",
    actual="It is 1 cent.",
    confidence=0.9,
    questions=["Should a voucher round up?"],
)

CLAIM = Claim(
    root_cause="The rounding adds a cent before the check for zero.",
    changes=f"Checks for zero first. {HOSTILE}",
    test_commands=["python -m pytest -q"],
    not_verified="Other currencies.",
)
