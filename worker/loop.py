"""The resident loop: hear signals, take up orphans, claim, work, wait for the bell."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import structlog

from domain.errors import FixwrightError, StoreUnavailable
from domain.model import Outcome, Reason, Task
from domain.states import State, Trigger
from worker import announce
from worker.halt import Halt
from worker.recover import recover_orphan
from worker.task_work import Shop, TaskWork
from worker.voice import Voice

log = structlog.get_logger(__name__)


HOUSEKEEPING_SECONDS = 60.0
"""Between two looks at what idle moments are for."""


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
        housekeeping: Callable[[], None] | None = None,
    ) -> None:
        self._housekeeping = housekeeping
        self._house_kept_at = shop.clock.monotonic()
        self.shop = shop
        self.listener = listener
        self.identity = identity
        self.poll_seconds = poll_seconds
        self._stopping = threading.Event()
        self._halt: Halt | None = None

    def stop(self) -> None:
        """Ask the loop to end: a running attempt stops at its step, and goes on at the next start."""
        self._stopping.set()
        halt = self._halt
        if halt is not None:
            halt.ask(Outcome.INTERRUPTED)

    def run(self) -> None:
        """Work until `stop`."""
        log.info("worker is up", identity=self.identity)
        while not self._stopping.is_set():
            if not self.turn():
                self._keep_house()
                self.listener.wait(self._patience())
        log.info("worker is down", identity=self.identity)

    def turn(self) -> bool:
        """Do one round; tell whether a task was worked on."""
        shop = self.shop
        shop.desk.clear()
        for orphan in shop.queue.orphans(self.identity):
            recover_orphan(shop.queue, orphan, self._voice(orphan), shop.clock.now())
        task = shop.queue.claim(self.identity, shop.lease_seconds)
        if task is None:
            return False
        if task.issue.forge in shop.forges:
            self._work_on(task)
        else:
            detail = f"the forge {task.issue.forge} is not configured any more"
            shop.queue.move(task, Trigger.BLOCKED, reason=Reason.CONFIG, detail=detail)
        return True

    def _work_on(self, task: Task) -> None:
        halt = Halt()
        self._halt = halt
        if self._stopping.is_set():
            halt.ask(Outcome.INTERRUPTED)
        log.info("task claimed", task=task.id, issue=task.issue.number, repository=task.repository_name)
        try:
            TaskWork(self.shop, task, halt).run()
        except FixwrightError:
            log.exception("task failed", task=task.id)
            self._set_aside(task)
        except Exception:
            log.exception("task failed unexpectedly", task=task.id)
            self._set_aside(task)
        finally:
            self._halt = None
        log.info("task settled", task=task.id, state=self.shop.queue.task(task.id).state)

    def _set_aside(self, task: Task) -> None:
        """Block a task whose work raised what nobody foresaw; the log has the trace, the issue a word."""
        current = self.shop.queue.task(task.id)
        if current.state is not State.RUNNING or current.generation != task.generation:
            return
        moved = self.shop.queue.move(current, Trigger.BLOCKED, reason=Reason.INTERNAL_ERROR)
        voice = self._voice(moved)
        text = announce.ending_without_cost(Reason.INTERNAL_ERROR)
        voice.say(moved, "ended", text)

    def _keep_house(self) -> None:
        """Do what idle moments are for, now and then; a trouble with it must not end the loop."""
        now = self.shop.clock.monotonic()
        if self._housekeeping is None or now - self._house_kept_at < HOUSEKEEPING_SECONDS:
            return
        self._house_kept_at = now
        try:
            self._housekeeping()
        except StoreUnavailable as error:
            log.warning("house not kept", error=str(error))

    def _voice(self, task: Task) -> Voice:
        return Voice(self.shop.forges.get(task.issue.forge), self.shop.redact)

    def _patience(self) -> float:
        due = self.shop.queue.next_due()
        if due is None:
            return self.poll_seconds
        return max(0.05, min(self.poll_seconds, (due - self.shop.clock.now()).total_seconds()))
