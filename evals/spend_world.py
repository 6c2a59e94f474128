"""Two workers, a provider, people and a clock that jumps, over the real meter, ledger and task queue."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from domain.budget import ZERO, Caps, Spent, next_utc_day, rooms, utc_day
from domain.errors import CapReached, StaleWrite
from domain.events import CommandGiven, Event, IssueLabelled, Verb
from domain.model import Actor, Attempt, Category, IssueRef, Money, Outcome, Price, Reason, Task
from domain.ports import Admission, Delivery, Landing, Reservation
from domain.states import State, Trigger
from evals.spend_audit import Audit, Call, Scope
from evals.spend_provider import random_price, reply, worst
from harness.meter import AttemptMeter
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from worker.recover import recover_orphan

CAPS = Caps(
    max_iterations=12,
    max_cost_per_task_usd=Money("0.50"),
    max_raised_cost_per_task_usd=Money("1.25"),
    max_daily_cost_usd=Money("1.50"),
    max_daily_cost_total_usd=Money("6.00"),
    max_minutes=30,
    max_attempts=2,
)
REPOSITORIES = 6
BATCH = 100
"""Tasks that are labelled at once, somewhat more than a day's caps leave room for."""

LEASE_SECONDS = 60.0
MAINTAINER = Actor(id="7", login="ada")
CATEGORIES = {"bug": Category.BUG}


class JumpingClock:
    """A clock that goes on a little, and sometimes leaps: to midnight, by a day, or back."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._moment = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the moment that it shows."""
        return self._moment

    def monotonic(self) -> float:
        """Return seconds."""
        return self._moment.timestamp()

    def go_on(self) -> None:
        """Move as clocks do, and as they should not."""
        die = self._chance.random()
        if die < 0.002:
            self._moment = next_utc_day(self._moment) - timedelta(microseconds=1)
        elif die < 0.003:
            self._moment -= timedelta(hours=self._chance.choice([1, 2, 26]))
        elif die < 0.004:
            self._moment += timedelta(hours=self._chance.choice([1, 25]))
        elif die < 0.014:
            self._moment += timedelta(seconds=90)  # longer than a lease
        else:
            self._moment += timedelta(seconds=self._chance.choice([0, 1, 2, 4]))

    def leap_to(self, moment: datetime) -> None:
        """Move to when there is something to do again."""
        self._moment = max(self._moment, moment)


class CheckingMeter(AttemptMeter):
    """The meter as it must not be: it looks at what was spent before a call, and reserves nothing."""

    def reserve(self, input_tokens: int, wanted_output: int) -> Reservation:
        """Let the call through while anything is left."""

        def decide(spent: Spent) -> tuple[int, Money]:
            limit, left = min(rooms(self._caps, spent).items(), key=lambda item: item[1])
            if left <= 0 and not self._price.free:
                raise CapReached(limit, "nothing is left")
            return wanted_output, ZERO

        return self._ledger.reserve(self._task, self._attempt, model=self.model, decide=decide)


@dataclass(slots=True, kw_only=True)
class World:
    """One store with its two workers. `meter` is the one under test."""

    path: Path | Literal[":memory:"]
    seed: int
    tasks: int
    meter: type[AttemptMeter] = AttemptMeter

    def run(self) -> Audit:
        """Play until every task has come to rest, and return the audit."""
        with Database(self.path) as database:
            database.migrate()
            play = Play(database, random.Random(self.seed), self.tasks, self.meter)
            play.run()
            play.audit.compare(ledger_sums(play.ledger))
        return play.audit


class Play:
    """What happens, one step of one worker after the other; which worker's is up to the die."""

    def __init__(
        self, database: Database, chance: random.Random, tasks: int, meter: type[AttemptMeter]
    ) -> None:
        self.audit = Audit(CAPS)
        self._chance = chance
        self._left = tasks
        self._labelled = 0
        self._meter = meter
        self._clock = JumpingClock(chance)
        self._queue = SqliteTaskQueue(database, self._clock)
        self._inbox = SqliteInbox(database, CATEGORIES)
        self.ledger = SqliteLedger(database, self._clock)
        self._prices: dict[int, Price] = {}

    def run(self) -> None:
        """Interleave two workers until nothing is left to do; each may die at every step."""
        workers = [self._work(name, 0) for name in (0, 1)]
        lives, idle = [0, 0], [False, False]
        while True:
            which = self._chance.randrange(2)
            idle[which] = next(workers[which])
            self._clock.go_on()
            if self._chance.random() < 0.01:
                lives[which] += 1
                workers[which] = self._work(which, lives[which])
                self.audit.seen["crashes"] += 1
            if all(idle) and not self._find_work():
                return

    def _find_work(self) -> bool:
        """Label more issues, or wait for what was put off; False when all is done."""
        due = self._queue.next_due()
        if due is not None:
            self._clock.leap_to(due)
            return True
        if any(task.state is State.RUNNING for task in self._queue.tasks(2 * BATCH)):
            self._clock.leap_to(self._clock.now() + timedelta(seconds=2 * LEASE_SECONDS))
            return True
        label_issues(self._inbox, self._clock.now(), self._labelled + 1, min(BATCH, self._left))
        self._labelled += min(BATCH, self._left)
        self._left -= min(BATCH, self._left)
        return self._queue.next_due() is not None

    def _work(self, number: int, life: int) -> Iterator[bool]:
        """Be a worker, step by step; tells with each step whether there was nothing to do."""
        identity = f"worker-{number}/{life}"
        while True:
            for orphan in self._queue.orphans(identity):
                self.audit.seen["tasks taken from a worker"] += 1
                recover_orphan(self._queue, orphan, self._clock.now())
            task = self._queue.claim(identity, LEASE_SECONDS)
            if task is None:
                yield True
                continue
            try:
                yield from self._attempt(task)
            except StaleWrite:
                self.audit.seen["stale workers stopped"] += 1
            yield False

    def _attempt(self, task: Task) -> Iterator[bool]:
        attempt = self._queue.begin_attempt(task)
        price = self._prices.setdefault(task.id, random_price(self._chance))
        meter = self._meter(self.ledger, task, attempt, caps=CAPS, price=price, model="house/any")
        if self._chance.random() < 0.1:
            meter.tighten(max_iterations=None, max_cost_per_task_usd=Money("0.20"))
        yield False
        outcome = self._chance.choice([Outcome.VERIFIED, Outcome.UNVERIFIED])
        for _ in range(self._chance.choice([1, 2, 3, 4, 6, 14])):
            try:
                yield from self._call(meter, Call(attempt, task, "", ZERO, price))
            except CapReached as refusal:
                self.audit.seen[f"refused by {refusal.limit}"] += 1
                outcome = Outcome.DAILY_LIMIT if refusal.limit.is_daily else Outcome.TASK_LIMIT
                break
        self._settle(task, attempt, outcome)

    def _call(self, meter: AttemptMeter, call: Call) -> Iterator[bool]:
        """Reserve, call, settle; whatever can happen in between happens at a `yield`."""
        tokens, wanted = self._chance.randint(100, 60_000), self._chance.choice([300, 1000, 4096, 8192])
        call.day = utc_day(self._clock.now())
        held = meter.reserve(tokens, wanted)
        call.worst = worst(call.price, tokens, held.max_output_tokens)
        self.audit.granted(call)
        yield False
        answer = reply(self._chance, call.price, tokens, held.max_output_tokens)
        self.audit.seen[answer.behaviour] += 1
        self.audit.billed(call, answer.real, hidden=answer.hidden)
        yield False
        if answer.is_lost and self._chance.random() < 0.5:
            return  # nobody ever settles it
        for _ in range(self._chance.choice([1, 1, 1, 2])):
            meter.settle(held, answer.usage, answer.stated)
            self.audit.answered(call)
        yield False

    def _settle(self, task: Task, attempt: Attempt, outcome: Outcome) -> None:
        """Bring a task to rest as the worker does; people then do what people do."""
        ending = (attempt, outcome)
        if outcome is Outcome.DAILY_LIMIT:
            if self._chance.random() < 0.7:
                self._queue.move(task, Trigger.CANCELLED)
                return
            self._queue.move(task, Trigger.RELEASED, Landing(not_before=next_utc_day(self._clock.now())))
        elif outcome is Outcome.VERIFIED:
            self._queue.move(task, Trigger.PUBLISHED, Landing(ending=ending))
        elif outcome is Outcome.UNVERIFIED and task.attempts + 1 < CAPS.max_attempts:
            self._queue.move(task, Trigger.RETRIED, Landing(ending=ending))
        else:
            moved = self._queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.TASK_LIMIT, ending=ending))
            self._ask_for_more(moved)

    def _ask_for_more(self, task: Task) -> None:
        """Let a maintainer raise the cap, or only ask for another try, again and again."""
        if self._chance.random() < 0.3:
            amount = Money(self._chance.randint(51, 125)) / 100
            if self.ledger.raise_cap(task, amount, by=MAINTAINER, comment_id="c"):
                self.audit.raised[task.id] = amount
                self.audit.seen["caps raised"] += 1
        if self._chance.random() < 0.4:
            again = CommandGiven(
                issue=task.issue, actor=MAINTAINER, verb=Verb.RETRY, comment_id="r", text="/fixwright retry"
            )
            self._queue.move(task, Trigger.RESUMED, Landing(asked=again))
            self.audit.seen["people's retries"] += 1


def label_issues(inbox: SqliteInbox, now: datetime, first: int, count: int) -> None:
    """Put QUEUED tasks into the store, over a handful of repositories."""
    deliveries = [_delivery(number, now) for number in range(first, first + count)]
    inbox.accept(deliveries, _admit)


def _delivery(number: int, now: datetime) -> Delivery:
    body = str(number).encode()
    event = IssueLabelled(
        issue=IssueRef(forge="local", repository_id=str(number % REPOSITORIES), number=number),
        repository_name=f"acme/{number % REPOSITORIES}",
        actor=MAINTAINER,
        label="bug",
        title="",
        body="",
    )
    digest = hashlib.sha256(body).hexdigest()
    return Delivery(
        provider="local", delivery_id=str(number), body_sha256=digest, body=body, received_at=now, event=event
    )


def _admit(_: Event) -> Admission:
    return Admission.QUEUED


def ledger_sums(ledger: SqliteLedger) -> Callable[[Scope], Money]:
    """Return what the ledger says of a scope of the audit's."""

    def amount(scope: Scope) -> Money:
        kind, key = scope
        if kind == "attempt":
            return ledger.spent_on_attempt(int(key))
        if kind == "task":
            return ledger.spent_on_task(int(key))
        *named, day = str(key).split()
        repositories = named or [str(number) for number in range(REPOSITORIES)]
        return sum((ledger.spent_on_day("local", each, day) for each in repositories), ZERO)

    return amount
