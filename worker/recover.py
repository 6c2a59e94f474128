"""Takes up what a crash or a lost lease left behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog

from domain.errors import StaleWrite
from domain.model import Attempt, Outcome, Reason, Task
from domain.policy import MAX_RECOVERIES, Retries, settle
from domain.ports import Landing, TaskQueue
from domain.states import Trigger
from worker import announce

log = structlog.get_logger(__name__)


def recover_orphan(
    queue: TaskQueue,
    task: Task,
    now: datetime,
    max_recoveries: int = MAX_RECOVERIES,
    last_word: Callable[[Task, Attempt, Reason | None], None] | None = None,
) -> Task | None:
    """Put an orphaned task back into the queue, or before a person when that happened too often.

    In the queue its attempt stays open: the next claim goes on from the last step, with what is left of the
    budget. `last_word` is called before an attempt is closed for good: it has a receipt like any other that
    ended. Returns the task as it is then, or None where somebody else was faster.
    """
    plan = settle(
        Outcome.ORPHANED, task, reason=None, retries=Retries(attempts=0, recoveries=max_recoveries), now=now
    )
    attempt = open_attempt(queue, task) if plan.trigger is Trigger.BLOCKED else None
    try:
        if attempt is not None and last_word is not None:
            last_word(task, attempt, plan.reason)
        task = queue.move(
            task,
            plan.trigger,
            Landing(
                reason=plan.reason,
                detail=announce.RECOVERED if plan.trigger is not Trigger.BLOCKED else "",
                not_before=plan.not_before,
                recoveries=plan.recoveries,
                ending=(attempt, Outcome.ORPHANED) if attempt else None,
            ),
        )
    except StaleWrite:
        return None
    log.warning("orphaned task recovered", task=task.id, state=task.state, recoveries=task.recoveries)
    return task


def open_attempt(queue: TaskQueue, task: Task) -> Attempt | None:
    """Return the attempt that a task has open, or None."""
    attempts = queue.attempts(task.id)
    return attempts[-1] if attempts and attempts[-1].outcome is None else None
