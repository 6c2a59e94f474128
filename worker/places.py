"""What becomes of a repository's tasks when it can be written to no more, or again, or looks different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.errors import StaleWrite
from domain.model import Reason, Repository, Task
from domain.policy import Serving
from domain.ports import Forge, Landing, TaskQueue
from domain.states import State, Trigger, is_legal
from worker.fresh_look import FreshLook, Hindrance, changed_visibility

log = structlog.get_logger(__name__)

_UNDER_WAY = frozenset({State.QUEUED, State.RUNNING})
DELETED = "The repository was deleted."
_SHOWING = {"publicized": False, "privatized": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What was done at a place, for the record, and whether the place can be read at all."""

    decision: str
    can_be_read: bool


class PlaceDesk:
    """Brings the tasks of a repository in line with how it stands now. Not for several threads at once."""

    def __init__(self, queue: TaskQueue, forges: Mapping[str, Forge], serving: Serving) -> None:
        self._queue = queue
        self._forges = forges
        self._serving = serving
        self._moved: list[int] = []

    def take_moved(self) -> list[int]:
        """Return the ids of tasks that were moved since the last call: people are to be told."""
        moved, self._moved = self._moved, []
        return moved

    def settle(self, forge_name: str, repository_id: str, action: str = "") -> Settled:
        """Look at a repository, park or wake its tasks, and return what was done.

        `action` is what is said to have happened, in the forge's own word; only what the look confirms
        counts. Raises ForgeUnavailable, ForgeError, StoreUnavailable.
        """
        tasks = self._queue.tasks_at(forge_name, repository_id)
        forge = self._forges.get(forge_name)
        if not tasks or forge is None:
            why = "no task there" if forge else "the forge is not configured any more"
            return Settled(decision=why, can_be_read=forge is not None)
        look = FreshLook(queue=self._queue, forge=forge, serving=self._serving)
        found = look.repository(repository_id)
        lacking = None if isinstance(found, Hindrance) else look.rights(repository_id)
        done: Counter[str] = Counter()
        for task in tasks:
            if isinstance(found, Hindrance) and action == "deleted":
                done[self._move(task, Trigger.CANCELLED, Reason.WITHDRAWN, DELETED)] += 1
            else:
                done[self._settle_task(look, task, lacking or found, action)] += 1
        decision = ", ".join(f"{what}: {count}" for what, count in sorted(done.items()))
        return Settled(decision=decision, can_be_read=not isinstance(found, Hindrance))

    def _settle_task(self, look: FreshLook, task: Task, found: Repository | Hindrance, action: str) -> str:
        here = found if isinstance(found, Hindrance) else look.standing(task, found)
        if isinstance(here, Hindrance):
            if task.state in _UNDER_WAY:
                return self._move(task, here.trigger, here.reason, here.detail)
            return "left as it is"
        if task.state is State.BLOCKED and task.reason is Reason.OUT_OF_REACH:
            return self._wake(look, task)
        if _SHOWING.get(action) is here.private and self._is_begun(task):
            log.warning("repository changed its visibility", repository=here.full_name, private=here.private)
            changed = changed_visibility(here)
            return self._move(task, changed.trigger, changed.reason, changed.detail)
        return "left as it is"

    def _wake(self, look: FreshLook, task: Task) -> str:
        """Let a parked task go on, unless its issue has come to an end while nobody told us."""
        ended = look.issue(task)
        if ended is not None:
            return self._move(task, ended.trigger, ended.reason, ended.detail)
        return self._move(task, Trigger.RESUMED, None, "")

    def _is_begun(self, task: Task) -> bool:
        """Tell whether something was worked out that is not published yet."""
        if task.state is State.RUNNING:
            return True
        attempts = self._queue.attempts(task.id)
        return task.state is State.QUEUED and bool(attempts) and attempts[-1].outcome is None

    def _move(self, task: Task, trigger: Trigger, reason: Reason | None, detail: str) -> str:
        if not is_legal(task.state, trigger):
            return "left as it is"
        landing = Landing(reason=reason, detail=detail, goes_on=trigger is Trigger.RESUMED)
        try:
            self._queue.move(task, trigger, landing)
        except StaleWrite:
            return "moved by others"
        log.warning("task moved with its repository", task=task.id, trigger=trigger, why=detail)
        self._moved.append(task.id)
        return str(trigger)
