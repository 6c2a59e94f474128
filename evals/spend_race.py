"""Two real processes on one ledger, under one worker's name: each keeps taking the other's tasks for lost."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from domain.budget import ZERO, utc_day
from domain.errors import CapReached, StaleWrite
from domain.model import Attempt, Money, Outcome, Reason, Task
from domain.ports import Landing
from domain.states import State, Trigger
from evals.spend_audit import Audit, Call
from evals.spend_provider import random_price, reply, worst
from evals.spend_world import CAPS, CATEGORIES, label_issues, ledger_sums
from harness.meter import AttemptMeter
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from worker.recover import recover_orphan

START_SECONDS = 30.0

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class StandingClock:
    """A clock that does not move, so that both processes spend on one day."""

    def now(self) -> datetime:
        """Return noon."""
        return NOON

    def monotonic(self) -> float:
        """Return noon in seconds."""
        return NOON.timestamp()


@dataclass(slots=True)
class Bills:
    """What one process was really billed, call by call."""

    calls: list[tuple[Call, Money]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)


def race(path: Path, seed: int, tasks: int, initializer: Callable[[], None]) -> Audit:
    """Let two processes spend, add up what they were billed, and compare it with the caps and the ledger."""
    with Database(path) as database:
        database.migrate()
        label_issues(SqliteInbox(database, CATEGORIES), NOON, 1, tasks)
        with ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=initializer) as pool:
            both = list(pool.map(spend_beside_another, [path] * 2, [seed, seed + 1], "ab"))
        audit = Audit(CAPS)
        for bills in both:
            audit.seen += bills.seen
            for call, _ in bills.calls:
                audit.under_way(call)
        for call, amount in (each for bills in both for each in bills.calls):
            audit.billed(call, amount)
            audit.answered(call)
        audit.compare(ledger_sums(SqliteLedger(database, StandingClock())))
    return audit


def spend_beside_another(path: Path, seed: int, life: str) -> Bills:
    """Be one of the two processes until no task is left; begin when both are there."""
    _wait_for_both(path, life)
    chance, clock, bills = random.Random(seed), StandingClock(), Bills()
    with Database(path) as database:
        queue, ledger = SqliteTaskQueue(database, clock), SqliteLedger(database, clock)
        while True:
            if chance.random() < 0.1:
                for orphan in queue.orphans(f"twin/{life}"):
                    bills.seen["tasks taken from a worker"] += 1
                    recover_orphan(queue, orphan, clock.now())
            task = queue.claim(f"twin/{life}", 60.0)
            if task is None:
                if not any(each.state is State.RUNNING for each in queue.tasks()):
                    return bills
                continue
            try:
                _spend(queue, ledger, task, chance, bills)
            except StaleWrite:
                bills.seen["stale workers stopped"] += 1


def _wait_for_both(path: Path, life: str) -> None:
    path.with_name(f"ready-{life}").touch()
    deadline = time.monotonic() + START_SECONDS
    while len(list(path.parent.glob("ready-?"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)


def _spend(
    queue: SqliteTaskQueue, ledger: SqliteLedger, task: Task, chance: random.Random, bills: Bills
) -> None:
    attempt, price = queue.begin_attempt(task), random_price(chance)
    meter = AttemptMeter(ledger, task, attempt, caps=CAPS, price=price, model="house/any")
    outcome = Outcome.TASK_LIMIT
    for _ in range(4):
        tokens = chance.randint(100, 30_000)
        call = Call(attempt, task, utc_day(NOON), ZERO, price)
        try:
            held = meter.reserve(tokens, 4096)
        except CapReached:
            break
        call.worst = worst(price, tokens, held.max_output_tokens)
        answer = reply(chance, price, tokens, held.max_output_tokens)
        bills.seen[answer.behaviour] += 1
        bills.calls.append((call, answer.real))
        if answer.usage is not None:
            meter.settle(held, answer.usage, answer.stated)
    _rest(queue, task, attempt, outcome)


def _rest(queue: SqliteTaskQueue, task: Task, attempt: Attempt, outcome: Outcome) -> None:
    queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.TASK_LIMIT, ending=(attempt, outcome)))
