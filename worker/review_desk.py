"""Hears reviewers of our drafts: who asks, in which state of the task, and when work on it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from domain.errors import ForgeError, ForgeUnavailable, StaleWrite
from domain.model import Reason, Task
from domain.noted import PullCommented, ReviewCommented, ReviewGiven
from domain.policy import PARKED, may_trigger
from domain.ports import Clock, Forge, Landing, TaskQueue
from domain.ports.reviewing import ReviewLog, ReviewWish
from domain.reviewing import ReviewEvent, asks_us, source_of
from domain.states import State, Trigger
from worker.command_desk import react_to
from worker.review_reading import is_left_to_do

log = structlog.get_logger(__name__)

_AT_REST = frozenset({State.IN_REVIEW, State.WATCHING, State.BLOCKED})
_OVER = frozenset({State.DONE, State.CANCELLED})
_NOT_FOR_REVIEWERS = PARKED | {Reason.AWAITING_APPROVAL}
"""Why a task is BLOCKED that a review cannot help: it is kept until that is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDesk:
    """Writes each wish down before anything moves, so that a crash loses none; each step may be repeated.

    `wait_seconds` is how long the rest of a review, and other comments, are waited for.
    """

    queue: TaskQueue
    forges: Mapping[str, Forge]
    reviews: ReviewLog
    clock: Clock
    wait_seconds: float

    def hear(self, task: Task, event: ReviewEvent) -> str:
        """Decide an event about a task's draft; return the decision for the record. Raises ForgeError."""
        forge = self.forges.get(task.issue.forge)
        if forge is None:
            raise ForgeUnavailable(f"the forge {task.issue.forge} is not configured any more")
        if not asks_us(event, forge.identity.login):
            return "nothing to do: it calls somebody else"
        if event.actor.id == forge.identity.id:
            return "nothing to do: our own words"
        if not may_trigger(forge.permission_of(task.issue.repository_id, event.actor), event.actor):
            return "not permitted"
        if task.state in _OVER:
            return f"no-op: the task is {task.state}"
        if not _is_its_draft(forge, task, event.number or 0):
            return "outdated: this pull request is not the task's open draft"
        self.reviews.hear(_wish(task, event))
        if isinstance(event, PullCommented):
            react_to(forge, replace(task.issue, number=event.number or 0), event.comment_id)
        return self._decide(task, event)

    def _decide(self, task: Task, event: ReviewEvent) -> str:
        if task.state is State.QUEUED:
            return "heard: for the attempt that begins next"
        if task.state is State.RUNNING:
            return "heard: for an attempt after the one that is under way"
        if task.reason in _NOT_FOR_REVIEWERS:
            return f"heard: kept until {task.reason} is over"
        try:
            until = self.clock.now() + timedelta(seconds=self.wait_seconds)
            self.queue.move(task, Trigger.RESUMED, Landing(not_before=until, word_at=event.at))
        except StaleWrite:
            return self._decide(self.queue.task(task.id), event)
        return str(Trigger.RESUMED)

    def take_up(self) -> None:
        """Let tasks at rest go on for what was heard while they could not. Raises StoreUnavailable."""
        wishes: dict[int, list[ReviewWish]] = {}
        for wish in self.reviews.untold():
            wishes.setdefault(wish.task_id, []).append(wish)
        for task_id, found in wishes.items():
            task = self.queue.task(task_id)
            if task.state in _AT_REST and task.reason not in _NOT_FOR_REVIEWERS:
                if task.state is not State.BLOCKED or self._came_too_late(task, found):
                    self._go_on(task, found)
            elif task.state in _OVER:
                self.reviews.answered(found)

    def _came_too_late(self, task: Task, wishes: list[ReviewWish]) -> bool:
        """Tell whether the attempt that a blocked task came from had begun when this was said.

        If not, the task was stopped before it could be told: it would be stopped again, and again.
        """
        last = next(iter(reversed(self.queue.attempts(task.id))), None)
        if last is None or last.generation != task.generation:
            return False
        return any(wish.heard_at is not None and wish.heard_at >= last.started_at for wish in wishes)

    def _go_on(self, task: Task, wishes: list[ReviewWish]) -> None:
        forge = self.forges.get(task.issue.forge)
        if forge is None:
            return
        try:
            if not _is_its_draft(forge, task, wishes[-1].pull_number) or not is_left_to_do(
                task, forge, wishes
            ):
                self.reviews.answered(wishes)
                log.info("review has nothing left to be done", task=task.id, reviews=len(wishes))
                return
            self.queue.move(task, Trigger.RESUMED)
            log.info("task goes on for a review", task=task.id, reviews=len(wishes))
        except ForgeUnavailable as error:
            log.warning("review waits for the forge", task=task.id, error=str(error))
        except ForgeError as error:
            log.warning("review cannot be followed", task=task.id, error=str(error))
        except StaleWrite as error:
            log.info("task was moved by somebody else", task=task.id, why=str(error))


def _is_its_draft(forge: Forge, task: Task, number: int) -> bool:
    """Tell whether this is the pull request that an attempt at the task would push to now."""
    pull = forge.find_pull(task.issue.repository_id, task.wip_branch) if task.wip_branch else None
    return pull is not None and pull.is_open and pull.number == number


def _wish(task: Task, event: ReviewGiven | ReviewCommented | PullCommented) -> ReviewWish:
    """Return what is written down; the text of a comment on a line is read from its thread."""
    return ReviewWish(
        task_id=task.id,
        pull_number=event.number or 0,
        source=source_of(event),
        reviewer=event.actor,
        wants_changes=isinstance(event, ReviewGiven) and event.state == "changes_requested",
        said="" if isinstance(event, ReviewCommented) else event.body,
    )
