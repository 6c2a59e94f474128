"""Watches over one running attempt from a second thread: keeps the lease, hears cancels, keeps the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import structlog

from domain.errors import StaleWrite, StoreUnavailable
from domain.model import Outcome, Task
from domain.ports import TaskQueue
from worker.halt import Halt
from worker.signals import SignalDesk

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How long a lease lasts, and how often signals are looked at: a cancel takes effect within a few beats.

    The lease is renewed three times before it would be over.
    """

    lease_seconds: float
    beat_seconds: float = 1.0

    @property
    def beats_to_renewal(self) -> int:
        """How many beats pass between two renewals."""
        return max(1, int(self.lease_seconds / 3 / self.beat_seconds))


class Supervisor:
    """A context manager around an attempt."""

    def __init__(
        self,
        task: Task,
        *,
        queue: TaskQueue,
        desk: SignalDesk,
        halt: Halt,
        rhythm: Rhythm,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`tick` is called at each beat, from the supervisor's thread. It may raise StoreUnavailable."""
        self._task = task
        self._queue = queue
        self._desk = desk
        self._halt = halt
        self._rhythm = rhythm
        self._tick = tick
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
        count = 0
        while not self._over.wait(self._rhythm.beat_seconds):
            count += 1
            try:
                wanted = self._still_ours(renew=count % self._rhythm.beats_to_renewal == 0)
            except StoreUnavailable as error:
                # The lease outlasts a short outage; after a long one the fence stops our writes.
                log.warning("supervisor cannot reach the store", task=self._task.id, error=str(error))
                continue
            if not wanted:
                log.info("attempt is no longer wanted", task=self._task.id)
                self._halt.ask(Outcome.CANCELLED)
                return

    def _still_ours(self, *, renew: bool) -> bool:
        """Renew before anything else: hearing signals may wait for a slow forge. Raises StoreUnavailable."""
        if renew:
            try:
                self._queue.heartbeat(self._task, self._rhythm.lease_seconds)
            except StaleWrite:
                return False
        self._desk.clear()
        current = self._queue.task(self._task.id)
        if (current.state, current.generation) != (self._task.state, self._task.generation):
            return False
        self._tick()
        return True
