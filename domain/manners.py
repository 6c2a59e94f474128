"""When to leave an issue alone, and when to wait with a new pull request: decisions on plain values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.model import Actor, Issue, Pull, Task
from domain.ports.contracts import PullCount
from domain.snapshot import snapshot_hash
from domain.states import State

HOUR = timedelta(hours=1)

LOOK_AGAIN = timedelta(minutes=15)
"""How soon a task that waits for room among the pull requests looks again."""

_WHEN_ROOM = "I go on when one of them is merged or closed."

_CLOSING = (
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?[ \t]+(?:[\w.-]{{1,60}}/[\w.-]{{1,100}})?#{number}(?!\d)"
)
_AT_WORK = frozenset({State.QUEUED, State.RUNNING, State.WATCHING, State.IN_REVIEW})


@dataclass(frozen=True, slots=True, kw_only=True)
class PullPace:
    """How many pull requests of ours a repository may have open, and get new in an hour; 0: any number."""

    most_open: int = 0
    most_new_per_hour: int = 0


UNPACED = PullPace()
"""As many as come."""


def assigned_to(task: Task, issue: Issue, me: Actor) -> str:
    """Return the login of whom an issue is assigned to, if that is neither us nor who asked; else ""."""
    known = {me.id, task.requested_by.id}
    return next((each.login for each in issue.assignees if each.id not in known), "")


def closing_pull(number: int, pulls: Iterable[Pull], me: Actor) -> Pull | None:
    """Return an open pull request of somebody else's whose text says that it closes an issue, or None."""
    pattern = re.compile(_CLOSING.format(number=number), re.IGNORECASE | re.ASCII)
    for pull in pulls:
        is_ours = pull.author is not None and pull.author.id == me.id
        if pull.is_open and not is_ours and pattern.search(f"{pull.title}\n{pull.body[:20_000]}"):
            return pull
    return None


def twin_of(task: Task, others: Iterable[Task]) -> Task | None:
    """Return an older task at work on an issue of the same repository with the very same text, or None."""
    if not task.body.strip():
        return None
    text = snapshot_hash(task.title, task.body)
    place = (task.issue.forge, task.issue.repository_id)
    for other in others:
        is_older_here = other.id < task.id and (other.issue.forge, other.issue.repository_id) == place
        if is_older_here and other.state in _AT_WORK and snapshot_hash(other.title, other.body) == text:
            return other
    return None


def why_wait(count: PullCount, pace: PullPace) -> str:
    """Return why a new pull request has to wait, or ""."""
    if pace.most_open and count.open >= pace.most_open:
        drafts = "1 pull request of mine is" if count.open == 1 else f"{count.open} pull requests of mine are"
        return (
            f"{drafts} open in this repository, and this service keeps no more than {pace.most_open} open "
            f"there. {_WHEN_ROOM}"
        )
    if pace.most_new_per_hour and count.new >= pace.most_new_per_hour:
        return (
            f"I have opened {count.new} pull requests in this repository within an hour, and this service "
            f"opens no more than {pace.most_new_per_hour}. I go on later."
        )
    return ""


def waits_for_room(task: Task) -> bool:
    """Tell whether a task waits until one of our open pull requests is merged or closed."""
    return task.state is State.QUEUED and task.not_before is not None and task.detail.endswith(_WHEN_ROOM)


def is_ignored(task: Task, last_word: datetime | None, now: datetime, patience: timedelta) -> bool:
    """Tell whether a task's draft has been left alone for too long; no patience at all means never."""
    if task.state is not State.IN_REVIEW or not patience:
        return False
    return max(task.updated_at, last_word or task.updated_at) <= now - patience
