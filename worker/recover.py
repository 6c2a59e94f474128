"""Takes up what a crash or a lost lease left behind."""

from __future__ import annotations

from datetime import datetime

import structlog

from domain.errors import StaleWrite
from domain.model import Outcome, Task
from domain.policy import settle
from domain.ports import TaskQueue
from worker import announce
from worker.voice import Voice

log = structlog.get_logger(__name__)


def recover_orphan(queue: TaskQueue, task: Task, voice: Voice, now: datetime) -> None:
    """Put an orphaned task back into the queue, or before a person when that happened too often.

    Its attempt stays open: the next claim goes on from the last step, with what is left of the budget.
    """
    plan = settle(Outcome.ORPHANED, task, reason=None, max_attempts=0, now=now)
    try:
        task = queue.move(
            task,
            plan.trigger,
            reason=plan.reason,
            not_before=plan.not_before,
            recoveries=plan.recoveries,
        )
    except StaleWrite:
        return
    log.warning("orphaned task recovered", task=task.id, state=task.state, recoveries=task.recoveries)
    if plan.reason is not None:
        text = announce.ending_without_cost(plan.reason)
        voice.say(task, "ended", text)
    else:
        voice.status(task, announce.RECOVERED)
