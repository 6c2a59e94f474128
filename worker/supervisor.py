"""Watches over one running attempt from a second thread: keeps the lease, hears cancels, keeps the clock."""

from __future__ import annotations

import threading
from types import TracebackType

import structlog

from domain.errors import StaleWrite
from domain.model import Outcome, Task
from domain.ports import TaskQueue
from worker.halt import Halt
from worker.signals import SignalDesk

log = structlog.get_logger(__name__)

BEAT_SECONDS = 1.0
"""How often signals are looked at while an attempt runs: a cancel takes effect within a few seconds."""


class Supervisor:
    """A context manager around an attempt."""

    def __init__(
        self, task: Task, *, queue: TaskQueue, desk: SignalDesk, halt: Halt, lease_seconds: float
    ) -> None:
        self._task = task
        self._queue = queue
        self._desk = desk
        self._halt = halt
        self._lease_seconds = lease_seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"supervisor-{task.id}", daemon=True)

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        beats = max(1, int(self._lease_seconds / 3 / BEAT_SECONDS))
        count = 0
        while not self._over.wait(BEAT_SECONDS):
            count += 1
            self._desk.clear()
            if not self._still_ours(renew=count % beats == 0):
                log.info("attempt is no longer wanted", task=self._task.id)
                self._halt.ask(Outcome.CANCELLED)
                return

    def _still_ours(self, *, renew: bool) -> bool:
        current = self._queue.task(self._task.id)
        if (current.state, current.generation) != (self._task.state, self._task.generation):
            return False
        if renew:
            try:
                self._queue.heartbeat(self._task, self._lease_seconds)
            except StaleWrite:
                return False
        return True
