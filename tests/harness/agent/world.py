"""The agent's surroundings in miniature: a ledger in memory, a session that runs commands, an observer."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from domain.budget import ZERO, Caps, Spent
from domain.claim import Claim, Restatement
from domain.model import (
    Actor,
    Attempt,
    Category,
    CommandResult,
    IssueRef,
    Money,
    Price,
    Task,
    Usage,
)
from domain.ports import Brief, Reservation
from domain.states import State
from harness.meter import AttemptMeter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PRICE = Price(input=Money("0.000001"), output=Money("0.000004"), source="tests")
CLAIM = Claim(root_cause="the sign was wrong", changes="turned it", test_commands=["true"])


def a_task() -> Task:
    actor = Actor(id="1", login="ann")
    return Task(
        id=1,
        issue=IssueRef(forge="local", repository_id="7", number=3),
        repository_name="ann/tool",
        category=Category.BUG,
        title="add() subtracts",
        body="add(2, 2) gives 0",
        requested_by=actor,
        state=State.RUNNING,
        created_at=NOW,
        updated_at=NOW,
    )


def an_attempt() -> Attempt:
    return Attempt(id=5, task_id=1, number=1, started_at=NOW)


def caps(**changes: object) -> Caps:
    values: dict[str, object] = {
        "max_iterations": 50,
        "max_cost_per_task_usd": Money(5),
        "max_raised_cost_per_task_usd": Money(8),
        "max_daily_cost_usd": Money(10),
        "max_daily_cost_total_usd": Money(20),
        "max_minutes": 60,
        "max_attempts": 3,
    }
    return Caps(**(values | changes))  # type: ignore[arg-type]


def a_brief(**changes: object) -> Brief:
    values: dict[str, object] = {
        "category": Category.BUG,
        "issue_number": 3,
        "title": "add() subtracts",
        "body": "add(2, 2) gives 0",
        "repository": "ann/tool",
        "test_command": "python -m pytest",
        "suspects": "calc.py:add",
        "slices": "1 def add(a, b):\n2     return a - b",
        "skip_restatement": True,
    }
    return Brief(**(values | changes))  # type: ignore[arg-type]


@dataclass
class MemoryLedger:
    """Counts like the real ledger: open reservations are spent."""

    day_before: Money = ZERO
    open: dict[int, Reservation] = field(default_factory=dict)
    booked: list[tuple[Reservation, Usage, Money, Money | None]] = field(default_factory=list)
    calls: int = 0

    def reserve(
        self,
        task: Task,
        attempt: Attempt,
        *,
        model: str,
        decide: Callable[[Spent], tuple[int, Money]],
        price: Price | None = None,
    ) -> Reservation:
        spent = self.spent_on_attempt(attempt.id)
        tokens, amount = decide(
            Spent(attempt=spent, task=spent, day=self.day_before + spent, service_day=self.day_before + spent)
        )
        self.calls += 1
        reservation = Reservation(
            id=self.calls, attempt_id=attempt.id, amount=amount, max_output_tokens=tokens
        )
        self.open[reservation.id] = reservation
        return reservation

    def settle(self, reservation: Reservation, *, usage: Usage, cost: Money, billed: Money | None) -> None:
        if self.open.pop(reservation.id, None) is not None:
            self.booked.append((reservation, usage, cost, billed))

    def raise_cap(self, task: Task, amount: Money, *, by: Actor, comment_id: str) -> bool:
        raise AssertionError("no cap is raised here")

    def standing(self, task: Task, attempt: Attempt | None = None) -> Spent:
        spent = self.spent_on_attempt(5)
        return Spent(attempt=spent, task=spent, day=spent, service_day=spent)

    def spent_on_attempt(self, attempt_id: int) -> Money:
        held = sum((item.amount for item in self.open.values()), Decimal(0))
        return held + sum((cost for _, _, cost, _ in self.booked), Decimal(0))

    def spent_on_task(self, task_id: int) -> Money:
        return self.spent_on_attempt(5)

    def spent_on_day(self, forge: str, repository_id: str, day: str) -> Money:
        return self.day_before + self.spent_on_attempt(5)

    def calls_on_attempt(self, attempt_id: int) -> int:
        return self.calls


def a_meter(ledger: MemoryLedger | None = None, price: Price = PRICE, **changes: object) -> AttemptMeter:
    return AttemptMeter(
        ledger or MemoryLedger(),
        a_task(),
        an_attempt(),
        caps=caps(**changes),
        price=price,
        model="openai/scripted",
    )


class ShellSession:
    """Runs commands in a directory without a sandbox."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.commands: list[str] = []
        self.began = threading.Event()
        self.running: subprocess.Popen[str] | None = None

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        self.commands.append(command)
        started = time.monotonic()
        self.running = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.began.set()
        output, timed_out = "", False
        try:
            output, _ = self.running.communicate(timeout=deadline_seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            self.running.wait()
            timed_out = True
        return CommandResult(
            command=command,
            exit_code=self.running.returncode,
            output=output,
            seconds=time.monotonic() - started,
            timed_out=timed_out,
        )

    def stop(self) -> None:
        if self.running is not None and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGKILL)

    def close(self) -> None:
        self.stop()


class Watcher:
    """Keeps what it is told; asks for a stop when `stop_when` says so."""

    def __init__(self, stop_when: Callable[[Watcher], bool] = lambda _: False) -> None:
        self.restatements: list[Restatement] = []
        self.records: list[Mapping[str, object]] = []
        self.steps: list[int] = []
        self.stop_when = stop_when
        self.said: list[tuple[str, ...]] = []
        """What each call of `listen` returns, in order; nothing when they are used up."""

    def restated(self, restatement: Restatement) -> None:
        self.restatements.append(restatement)

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        self.steps.append(step)
        self.records.append(record)

    def listen(self) -> tuple[str, ...]:
        return self.said.pop(0) if self.said else ()

    def should_stop(self) -> bool:
        return self.stop_when(self)

    @property
    def messages(self) -> list[dict[str, object]]:
        return [message for record in self.records for message in record["messages"]]  # type: ignore[attr-defined]
