"""The resident loop: hear signals, take up orphans, claim, work, wait for the bell."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

import structlog

from domain.errors import ConfigurationError, FixwrightError, StaleWrite, StoreUnavailable
from domain.model import Attempt, Outcome, Reason, Task
from domain.ports import Landing
from domain.states import State, Trigger
from harness.attempt import AttemptResult
from worker.halt import Halt
from worker.recover import open_attempt, recover_orphan
from worker.task_work import Shop, TaskWork

log = structlog.get_logger(__name__)

TOLD_AGAIN = timedelta(days=1)
"""How far back a worker that starts makes sure that people were told where their tasks stand."""


class Listener(Protocol):
    """What the loop waits on between tasks."""

    def wait(self, timeout: float) -> bool:
        """Return after the bell rang (True) or `timeout` seconds passed (False)."""


class Loop:
    """One worker's life. `stop` may be called from a signal handler or another thread."""

    def __init__(
        self,
        shop: Shop,
        listener: Listener,
        *,
        identity: str,
        poll_seconds: float,
        housekeeping: Callable[[], float] | None = None,
    ) -> None:
        """`housekeeping` does a short bit of what is due, and says in how many seconds there is more."""
        self._housekeeping = housekeeping
        self.shop = shop
        self.listener = listener
        self.identity = identity
        self.poll_seconds = poll_seconds
        self._stopping = threading.Event()
        self._halt: Halt | None = None
        self._task: Task | None = None
        self._untold: list[int] = []
        self._caught_up = False

    def stop(self) -> None:
        """Ask the loop to end: a running attempt stops at its step, and goes on at the next start."""
        self._stopping.set()
        halt = self._halt
        if halt is not None:
            halt.ask(Outcome.INTERRUPTED)

    def abandon(self) -> None:
        """Give back what is being worked on, from a thread other than its own: that one hangs.

        Nothing is counted against the task: it goes on from its last step. The process must end right after.
        """
        task = self._task
        if task is None:
            return
        try:
            self.shop.queue.move(task, Trigger.RELEASED)
        except (StaleWrite, StoreUnavailable) as error:
            log.warning("task not given back", task=task.id, why=str(error))

    def run(self) -> None:
        """Work until `stop`. While the store cannot be reached, nothing is done and nothing is lost."""
        log.info("worker is up", identity=self.identity)
        while not self._stopping.is_set():
            try:
                worked = self.turn()
                patience = self._patience()
            except StoreUnavailable as error:
                log.warning("worker waits for the store", error=str(error))
                worked, patience = False, self.poll_seconds
            patience = min(patience, self._keep_house())
            if not worked and not self._stopping.is_set():
                self.listener.wait(patience)
        log.info("worker is down", identity=self.identity)

    def turn(self) -> bool:
        """Do one round; tell whether a task was worked on. Raises StoreUnavailable."""
        shop = self.shop
        shop.desk.clear()
        for orphan in shop.queue.orphans(self.identity):
            self._take_up(orphan)
        self._tell()
        shop.desk.take_up_reviews()  # after what is to be said of the work before
        if shop.pause is not None and shop.pause.seconds_left:
            return False
        task = shop.queue.claim(self.identity, shop.lease_seconds)
        if task is None:
            return False
        if task.issue.forge in shop.forges:
            self._work_on(task)
        else:
            detail = f"the forge {task.issue.forge} is not configured any more"
            shop.queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.CONFIG, detail=detail))
        return True

    def _take_up(self, orphan: Task) -> None:
        task = recover_orphan(
            self.shop.queue, orphan, self.shop.clock.now(), self.shop.max_task_retries, self._last_word
        )
        if task is not None:
            self._untold.append(task.id)

    def _tell(self) -> None:
        """Say what is still to be said: of moves by signals, and what a crash or an outage kept back."""
        queue = self.shop.queue
        if not self._caught_up:
            since = self.shop.clock.now() - TOLD_AGAIN
            self._untold += [task.id for task in queue.tasks() if task.updated_at >= since]
            self._caught_up = True
        self._untold += self.shop.desk.take_moved()
        while self._untold:
            if not self.shop.notices.post(queue.task(self._untold[0])):
                return
            del self._untold[0]

    def _work_on(self, task: Task) -> None:
        halt = Halt()
        self._halt, self._task = halt, task
        if self._stopping.is_set():
            halt.ask(Outcome.INTERRUPTED)
        structlog.contextvars.bind_contextvars(task=task.id)
        log.info("task claimed", task=task.id, issue=task.issue.number, repository=task.repository_name)
        try:
            TaskWork(self.shop, task, halt).run()
        except StoreUnavailable:
            raise  # the task stays ours on paper, and is taken up again when its lease is over
        except FixwrightError:
            log.exception("task failed", task=task.id)
            self._set_aside(task)
        except Exception:
            log.exception("task failed unexpectedly", task=task.id)
            self._set_aside(task)
        finally:
            self._halt = self._task = None
            structlog.contextvars.unbind_contextvars("task", "attempt")
        log.info("task settled", task=task.id, state=self.shop.queue.task(task.id).state)
        self._untold.append(task.id)
        self._tell()

    def _set_aside(self, task: Task) -> None:
        """Block a task whose work raised what nobody foresaw; the log has the trace, the issue a word."""
        queue = self.shop.queue
        current = queue.task(task.id)
        if current.state is not State.RUNNING or current.generation != task.generation:
            return
        attempt = open_attempt(queue, current)
        if attempt is not None:
            self._last_word(current, attempt, Reason.INTERNAL_ERROR)
        ending = (attempt, Outcome.ORPHANED) if attempt else None
        queue.move(current, Trigger.BLOCKED, Landing(reason=Reason.INTERNAL_ERROR, ending=ending))

    def _last_word(self, task: Task, attempt: Attempt, reason: Reason | None) -> None:
        """Write the receipt of an attempt that nobody can end any more; without a key it goes without one."""
        try:
            self.shop.receipts.write(task, attempt, AttemptResult(outcome=Outcome.ORPHANED, reason=reason))
        except (ConfigurationError, StaleWrite) as error:
            log.warning("no receipt could be written", task=task.id, attempt=attempt.id, why=str(error))

    def _keep_house(self) -> float:
        """Do a bit of housekeeping; return how long the loop may wait until there is more of it."""
        if self._housekeeping is None or self._stopping.is_set():
            return self.poll_seconds
        return self._housekeeping()

    def _patience(self) -> float:
        pause = self.shop.pause
        if pause is not None and pause.seconds_left:
            return min(self.poll_seconds, pause.seconds_left)
        due = self.shop.queue.next_due()
        if due is None:
            return self.poll_seconds
        return max(0.05, min(self.poll_seconds, (due - self.shop.clock.now()).total_seconds()))
