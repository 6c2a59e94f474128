"""A task's page as plain values read from the ports: all that is known of it, words of the model apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from app.console_diff import DiffView, read_diff
from app.console_links import web_link as web_link
from app.console_suspects import KnownSuspect, suspects_in
from app.console_tests import TestTable, tests_of
from app.console_transcript import TranscriptShelf
from app.console_words import next_step
from domain.approving import Waiting, waiting_at
from domain.budget import CapRaise
from domain.claim import Claim, Restatement
from domain.model import Attempt, Phase, Publication, Task, Verdict
from domain.ports import Clock, Ledger, ReceiptLog, TaskQueue
from domain.receipt import Receipt
from domain.states import State
from store.board import Board, Scope
from store.delivery_list import DeliveryList
from store.history import DeliveryRecord, History, TaskEvent
from store.spending import Spending
from store.vitals import Vitals

DELIVERIES_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where the console reads from, and what it compares with."""

    queue: TaskQueue
    ledger: Ledger
    history: History
    clock: Clock
    receipts: ReceiptLog
    board: Board
    spending: Spending
    deliveries: DeliveryList
    shelf: TranscriptShelf
    vitals: Callable[[], Vitals]
    daily_cap: Decimal
    service_cap: Decimal
    repositories: frozenset[str] = frozenset()
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedPhase:
    """A phase in the timeline: where its bar begins and how long it is, in thousandths of the attempt."""

    phase: Phase
    start: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt with all that is known of it; the model's words stand apart from the verdict."""

    attempt: Attempt
    phases: tuple[TimedPhase, ...]
    spent: Decimal
    verdict: Verdict | None
    restatement: Restatement | None
    claim: Claim | None
    receipts: tuple[Receipt, ...] = ()
    suspects: tuple[KnownSuspect, ...] = ()
    tests: TestTable | None = None
    running_phase: str = ""

    @property
    def seconds(self) -> float:
        """The sum of the phases."""
        return sum(each.phase.seconds for each in self.phases)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task's page. `pending` are words of people that the worker has not decided yet."""

    task: Task
    next_step: str
    spent: Decimal
    attempts: tuple[AttemptView, ...]
    publications: tuple[Publication, ...]
    history: tuple[TaskEvent, ...]
    deliveries: tuple[DeliveryRecord, ...]
    waiting: Waiting | None = None
    raised: CapRaise | None = None
    pending: tuple[DeliveryRecord, ...] = field(default=())

    @property
    def newest(self) -> AttemptView | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def pull(self) -> Publication | None:
        """The newest pull request."""
        return next((each for each in reversed(self.publications) if each.pull_number is not None), None)


def read_task(reading: Reading, task_id: int, scope: Scope = None) -> TaskView:
    """Read a task's page. Raises KeyError where there is none that may be seen, StoreUnavailable."""
    queue = reading.queue
    task = visible_task(reading, task_id, scope)
    phases = queue.phases(task_id)
    attempts = tuple(
        _attempt_view(reading, task, attempt, [phase for number, phase in phases if number == attempt.number])
        for attempt in queue.attempts(task_id)
    )
    deliveries = tuple(reading.history.deliveries(DELIVERIES_SHOWN, task_id=task_id))
    last = attempts[-1] if attempts else None
    return TaskView(
        task=task,
        next_step=next_step(task),
        spent=reading.ledger.spent_on_task(task.id),
        attempts=attempts,
        publications=tuple(queue.publications(task_id)),
        history=tuple(reading.history.task_events(task_id)),
        deliveries=deliveries,
        waiting=waiting_at(task, last.attempt, last.verdict, last.restatement) if last else None,
        raised=reading.ledger.standing(task).raised,
        pending=tuple(each for each in deliveries if each.decision is None and each.admission == "signal"),
    )


def visible_task(reading: Reading, task_id: int, scope: Scope) -> Task:
    """Return a task that may be seen. Raises KeyError, StoreUnavailable."""
    task = reading.queue.task(task_id)
    if scope is not None and (task.issue.forge, task.issue.repository_id) not in scope:
        raise KeyError(f"there is no task {task_id}")
    return task


def read_difference(reading: Reading, view: AttemptView) -> DiffView | None:
    """Return what an attempt changed, with the guard's findings; None where nothing was kept."""
    patch = reading.shelf.difference(view.attempt.id)
    findings = view.verdict.findings if view.verdict else ()
    return read_diff(patch, findings) if patch.strip() else None


def _attempt_view(reading: Reading, task: Task, attempt: Attempt, phases: Iterable[Phase]) -> AttemptView:
    restatement, claim = reading.queue.report(attempt)
    verdict = reading.queue.verdict(attempt)
    receipts = tuple(reading.receipts.of_attempt(attempt.id))
    is_running = task.state is State.RUNNING and attempt.outcome is None
    return AttemptView(
        attempt=attempt,
        phases=timed(list(phases)),
        spent=reading.ledger.spent_on_attempt(attempt.id),
        verdict=verdict,
        restatement=restatement,
        claim=claim,
        receipts=receipts,
        suspects=suspects_in(receipts),
        tests=tests_of(verdict) if verdict else None,
        running_phase=reading.shelf.phase(attempt.id) if is_running else "",
    )


def timed(phases: list[Phase]) -> tuple[TimedPhase, ...]:
    """Place the phases of an attempt one after another on a line of 1000, as long as they took.

    Pauses between two lives of the attempt are left out: hours of waiting would hide the work.
    """
    whole = sum(phase.seconds for phase in phases) or 1.0
    placed, start = [], 0.0
    for phase in phases:
        length = 1000 * phase.seconds / whole
        placed.append(TimedPhase(phase=phase, start=min(996, round(start)), length=max(4, round(length))))
        start += length
    return tuple(placed)
