"""Tells people whose issues wait while others are worked on: which turn is theirs, now and then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.model import Task
from domain.policy import Serving, may_trigger
from domain.ports import Clock, Forge, TaskQueue
from domain.states import State
from domain.text import Redactor
from worker.housekeeping import Steps
from worker.status_desk import StatusDesk
from worker.status_words import status_page
from worker.turns import turn_of
from worker.voice import Voice

log = structlog.get_logger(__name__)

BEGINS_SOON = timedelta(seconds=30)
"""A task that has waited for less is not spoken of yet: it may begin at any moment."""

AGAIN = timedelta(minutes=5)
"""How much time passes at least before the place of the same task is written anew."""

BETWEEN_ROUNDS = 15.0
"""Seconds."""

MOST_AT_ONCE = 3
"""Issues written on in one round: forges bound how much may be written."""

MOST_REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class WaitingRoom:
    """Writes the status of tasks that wait for their turn; not for several threads at once.

    Nothing is said of a task that somebody asked for who may not, nor of one whose repository is not served.
    """

    queue: TaskQueue
    forges: Mapping[str, Forge]
    desk: StatusDesk
    serving: Serving
    clock: Clock
    redact: Redactor
    _looked_at: float | None = None
    _told: dict[int, tuple[str, datetime | None]] = field(default_factory=dict)

    def tick(self) -> None:
        """Do a round, where the last one is a while ago. Raises StoreUnavailable."""
        now = self.clock.monotonic()
        if self._looked_at is not None and now - self._looked_at < BETWEEN_ROUNDS:
            return
        self._looked_at = now
        for _ in self.steps():
            pass

    def steps(self) -> Steps:
        """Write on as many issues as may be in one round, a step each. Raises StoreUnavailable."""
        tasks = [task for task in self.queue.tasks() if task.state is State.QUEUED]
        now, written = self.clock.now(), 0
        for task in sorted(tasks, key=lambda each: each.id):
            news = f"{turn_of(task, tasks)} {task.not_before} {task.detail} {task.generation}"
            if now - task.updated_at < BEGINS_SOON or not self._is_news(task, news, now):
                continue
            self._remember(task, news if self._tell(task, now) else "", now)
            written += 1
            if written == MOST_AT_ONCE:
                return
            yield 0.0

    def _is_news(self, task: Task, news: str, now: datetime) -> bool:
        """Tell whether a task's place has changed since it was told, and that is long enough ago."""
        told, at = self._told.get(task.id, ("", None))
        return told != news and (at is None or now - at >= AGAIN)

    def _remember(self, task: Task, news: str, now: datetime) -> None:
        if len(self._told) >= MOST_REMEMBERED:
            self._told.clear()
        self._told[task.id] = (news, now)

    def _tell(self, task: Task, now: datetime) -> bool:
        """Say it, or leave it unsaid for good; False where it is worth another try later."""
        forge = self.forges.get(task.issue.forge)
        if forge is None or not self.serving.serves(task.issue.forge, task.repository_name):
            return True
        try:
            permission = forge.permission_of(task.issue.repository_id, task.requested_by)
        except ForgeError as error:
            log.warning("place in the queue not told", task=task.id, error=str(error))
            return not isinstance(error, ForgeUnavailable)
        if not may_trigger(permission, task.requested_by):
            return True
        return Voice(forge, self.redact).status(task, status_page(self.desk.waiting(task, now)))
