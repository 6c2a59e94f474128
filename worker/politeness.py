"""Looks whether an issue is somebody else's before the first attempt; lets those in who wait for room."""

from __future__ import annotations

from itertools import islice

import structlog

from domain.errors import ForgeError, ForgeUnavailable, StaleWrite
from domain.manners import assigned_to, closing_pull, next_in_line, twin_of
from domain.model import Task
from domain.ports import Capability, Forge, Landing, ListingPulls, TaskQueue
from domain.states import Trigger
from harness.markdown import code

log = structlog.get_logger(__name__)

MOST_PULLS = 300
"""Open pull requests that are looked at, the newest first."""

_MOST_TASKS = 1000


def why_left_alone(task: Task, forge: Forge, queue: TaskQueue) -> str:
    """Return in one line why an issue is left to others, or "". Raises ForgeError.

    Not asked once there was an attempt, nor where a maintainer's command stands behind the task.
    """
    if task.by_command or task.wip_branch or queue.attempts(task.id):
        return ""
    issue = forge.issue(task.issue)
    person = assigned_to(task, issue, forge.identity)
    if person:
        return f"It is assigned to {code(person)}."
    twin = twin_of(task, queue.live_tasks(0, _MOST_TASKS))
    if twin is not None:
        return f"It has the very same text as #{twin.issue.number}, which I work on already."
    return _pull_in_the_way(task, forge)


def _pull_in_the_way(task: Task, forge: Forge) -> str:
    """Look as far as the forge lets us: one that does not list pull requests is not asked."""
    if Capability.PULL_LISTS not in forge.capabilities or not isinstance(forge, ListingPulls):
        return ""
    try:
        pulls = islice(forge.open_pulls(task.issue.repository_id), MOST_PULLS)
        pull = closing_pull(task.issue.number, pulls, forge.identity)
    except ForgeUnavailable:
        raise
    except ForgeError as error:
        log.warning("open pull requests not looked at", task=task.id, error=str(error))
        return ""
    return f"The open pull request #{pull.number} says that it closes it." if pull else ""


def make_use_of_room(ended: Task, queue: TaskQueue) -> None:
    """Let the oldest task that waits for room among the pull requests look at once: one of them has ended."""
    waiting = next_in_line(queue.tasks_at(ended.issue.forge, ended.issue.repository_id))
    if waiting is None:
        return
    try:
        queue.move(waiting, Trigger.DEFERRED, Landing(detail=waiting.detail))
    except StaleWrite as error:
        log.info("task was moved by somebody else", task=waiting.id, why=str(error))
