"""Solves one issue in its private place: works, asks at the plan's gate, and tells how it ended."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from app.api.news import NewsReader, Place, StreamEvent
from app.clock import SystemClock
from app.settings import WorkerSettings
from app.signals import stopping_on_signals
from app.solve.place import SolvePlace
from app.work import build_loop, known_secrets
from domain.approving import Gate, waiting_at
from domain.claim import Restatement
from domain.errors import StoreUnavailable
from domain.events import COMMAND_PREFIX, CommandGiven, Event, Verb
from domain.model import Task, Verdict
from domain.operators import console_comment
from domain.policy import admit
from domain.ports import Delivery
from domain.states import State
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.progress import Progress
from store.tasks import SqliteTaskQueue
from worker.loop import Loop

LOOK_SECONDS = 0.5
MOST_TURNS = 50
"""Of the loop: each attempt is one, and so is each word of the person's."""

Ask = Callable[[Restatement], bool]
Tell = Callable[[StreamEvent], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How it ended. `branch` and `diff` are "" where nothing was verified."""

    task: Task
    verdict: Verdict | None
    spent: str
    branch: str = ""
    diff: str = ""
    body: str = ""
    is_stopped: bool = False


class Solver:
    """One issue's work, in the thread that calls; what happens is told from another one."""

    def __init__(self, place: SolvePlace, settings: WorkerSettings) -> None:
        """Make the worker's parts. Raises ConfigurationError, SandboxError."""
        self._place = place
        self._redact = known_secrets(settings)
        self._loop: Loop = build_loop(settings, self._redact)
        self._loop.shop.bench.sandbox.self_test()
        self._clock = SystemClock()
        self._database = Database(settings.database_path)
        self._queue = SqliteTaskQueue(self._database, self._clock, settings.labels)
        self._ledger = SqliteLedger(self._database, self._clock)
        self._inbox = SqliteInbox(self._database, settings.labels)
        self._serving = settings.serving({})
        self._news = NewsReader(Progress(self._database), settings.data_dir / "transcripts", self._redact)
        self._is_stopped = False

    def solve(self, ask: Ask, tell: Tell) -> Solved:
        """Work until it is at rest; `ask` shows a plan and returns whether it is approved."""
        self._hear(self._place.asked, "asked")
        task = self._queue.tasks()[0]
        telling = _Telling(self._news, task.id, tell)
        with stopping_on_signals(self._stop), telling:
            for turn in range(MOST_TURNS):
                task = self._queue.task(task.id)
                if self._is_stopped or self._is_at_rest(task):
                    break
                if task.state is State.BLOCKED and not self._approve(task, ask, turn):
                    break
                self._loop.turn()
        return self._ended(self._queue.task(task.id))

    def close(self) -> None:
        """Give the database back."""
        self._database.close()

    def _stop(self) -> None:
        self._is_stopped = True
        self._loop.stop()

    def _is_at_rest(self, task: Task) -> bool:
        if task.state is State.BLOCKED:
            return self._plan(task) is None
        is_put_off = task.not_before is not None and task.not_before > self._clock.now()
        return task.state not in {State.QUEUED, State.RUNNING} or is_put_off

    def _plan(self, task: Task) -> tuple[str, Restatement] | None:
        """Return the name and the text of a plan that waits."""
        attempts = self._queue.attempts(task.id)
        if not attempts:
            return None
        last = attempts[-1]
        restatement = self._queue.report(last)[0]
        waiting = waiting_at(task, last, self._queue.verdict(last), restatement)
        is_plan = waiting is not None and waiting.gate is Gate.PLAN
        return (waiting.name, restatement) if waiting and restatement and is_plan else None

    def _approve(self, task: Task, ask: Ask, turn: int) -> bool:
        plan = self._plan(task)
        if plan is None or not ask(plan[1]):
            return False
        mark = f"approve-{turn}"
        command = CommandGiven(
            issue=task.issue,
            actor=self._place.person,
            verb=Verb.APPROVE,
            comment_id=console_comment(mark),
            text=f"{COMMAND_PREFIX} approve {plan[0]}",
        )
        self._hear(command, mark)
        return True

    def _hear(self, event: Event, mark: str) -> None:
        delivery = Delivery(
            provider="local",
            delivery_id=f"solve-{mark}",
            body_sha256=hashlib.sha256(mark.encode("ascii")).hexdigest(),
            body=b"{}",
            received_at=self._clock.now(),
            event=event,
        )
        self._inbox.accept([delivery], lambda each: admit(each, self._serving))

    def _ended(self, task: Task) -> Solved:
        attempts = self._queue.attempts(task.id)
        verdict = self._queue.verdict(attempts[-1]) if attempts else None
        pulls = self._place.world.pulls(self._place.repository.id) if task.state is State.IN_REVIEW else []
        spent = f"{self._ledger.spent_on_task(task.id):f}"
        if not pulls:
            return Solved(task=task, verdict=verdict, spent=spent, is_stopped=self._is_stopped)
        diff = self._place.world.pull_diff(self._place.repository.id, pulls[0].number)
        return Solved(
            task=task,
            verdict=verdict,
            spent=spent,
            branch=pulls[0].head_branch,
            diff=diff,
            body=pulls[0].body,
        )


class _Telling:
    """Tells what happens to a task while the block runs, and the rest at its end."""

    def __init__(self, news: NewsReader, task_id: int, tell: Tell) -> None:
        self._news = news
        self._place = Place(task_id)
        self._tell = tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telling", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        with suppress(StoreUnavailable):
            is_all = False
            while not is_all:
                found = self._news.after(self._place)
                self._place, is_all = found.place, found.is_all
                for event in found.events:
                    self._tell(event)
