"""Signals: events about known tasks, decided with a fresh look at who sent them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import structlog

from domain.errors import ForgeError, ForgeUnavailable, StaleWrite
from domain.events import CommandGiven, IssueLabelled, Uninteresting
from domain.model import Permission, Reason, Task
from domain.policy import Serving, trigger_of
from domain.ports import Forge, Signal, TaskQueue
from domain.states import Trigger, is_legal

log = structlog.get_logger(__name__)


class SignalDesk:
    """Decides signals one by one, in the order in which they came; for any number of threads."""

    def __init__(self, queue: TaskQueue, forges: Mapping[str, Forge], serving: Serving) -> None:
        self._queue = queue
        self._forges = forges
        self._serving = serving
        self._lock = threading.Lock()
        self._moved: list[int] = []

    def clear(self) -> None:
        """Decide all waiting signals; one whose sender cannot be looked up now waits for the next time.

        Raises StoreUnavailable.
        """
        with self._lock:
            for signal in self._queue.signals():
                self._settle(signal)

    def take_moved(self) -> list[int]:
        """Return the ids of tasks that signals have moved since the last call: people are to be told."""
        with self._lock:
            moved, self._moved = self._moved, []
        return moved

    def _settle(self, signal: Signal) -> None:
        try:
            decision = self._decide(signal)
        except ForgeUnavailable as error:
            log.warning("signal waits for the forge", signal=signal.id, error=str(error))
            return
        except ForgeError as error:
            decision = f"refused: {error}"
        self._queue.decide(signal, decision)
        log.info("signal decided", signal=signal.id, task=signal.task_id, decision=decision)

    def _decide(self, signal: Signal) -> str:
        task = self._queue.task(signal.task_id)
        trigger = trigger_of(signal.event, task, self._permission(signal, task), self._serving)
        if trigger is None:
            return "nothing to do, or not permitted"
        if not is_legal(task.state, trigger):
            return f"no-op: a task that is {task.state} cannot be {trigger}"
        asked = signal.event if isinstance(signal.event, IssueLabelled | CommandGiven) else None
        reason = Reason.WITHDRAWN if trigger is Trigger.CANCELLED else None
        try:
            self._queue.move(task, trigger, reason=reason, asked=asked)
        except StaleWrite:
            return self._decide(signal)
        self._moved.append(task.id)
        return str(trigger)

    def _permission(self, signal: Signal, task: Task) -> Permission:
        if isinstance(signal.event, Uninteresting):
            return Permission.NONE
        forge = self._forges.get(task.issue.forge)
        if forge is None:
            raise ForgeUnavailable(f"the forge {task.issue.forge} is not configured any more")
        return forge.permission_of(task.issue.repository_id, signal.event.actor)
