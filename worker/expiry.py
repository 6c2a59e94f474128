"""Lets go of drafts that nobody has looked at for a long time: with a note, once, and nothing is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from domain.errors import ForgeError, StaleWrite
from domain.manners import is_ignored
from domain.model import Reason, Task
from domain.ports import Clock, Forge, Landing, TaskQueue
from domain.ports.contracts import Contracts
from domain.states import State, Trigger
from worker.housekeeping import Steps

log = structlog.get_logger(__name__)

_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftExpiry:
    """Ends tasks whose drafts were ignored for `patience` (none: never); `tell` has people told."""

    queue: TaskQueue
    contracts: Contracts
    forges: Mapping[str, Forge]
    clock: Clock
    patience: timedelta
    tell: Callable[[int], None]

    def steps(self) -> Steps:
        """Look at one task in each step. Raises StoreUnavailable."""
        after = 0
        while self.patience and (tasks := self.queue.live_tasks(after, _AT_ONCE)):
            after = tasks[-1].id
            heard = {
                each.task_id: each.at for each in self.contracts.outcomes(self.clock.now() - self.patience)
            }
            for task in tasks:
                if is_ignored(task, heard.get(task.id), self.clock.now(), self.patience):
                    self._expire(task)
                    yield 0.0

    def _expire(self, task: Task) -> None:
        forge = self.forges.get(task.issue.forge)
        if forge is None:
            return
        try:
            pull = forge.find_pull(task.issue.repository_id, task.wip_branch)
        except ForgeError as error:
            log.warning("draft not looked at", task=task.id, error=str(error))
            return
        if pull is None or not pull.is_open or not pull.is_draft:
            return
        detail = f"Draft #{pull.number} had no review and no word for {self.patience.days} days."
        try:
            self.queue.move(task, Trigger.CANCELLED, Landing(reason=Reason.EXPIRED, detail=detail))
        except StaleWrite:
            return
        self.contracts.expire(task, pull.number, forge.identity)
        self.tell(task.id)
        log.info("draft expired", task=task.id, pull=pull.number, state=State.CANCELLED)
