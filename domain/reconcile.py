"""What may have been missed while nobody listened, judged from how an issue stands now: pure decisions."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime, timedelta

from domain.events import Verb, parse_command
from domain.model import Actor, Comment, Issue, Permission, Task
from domain.policy import Serving, category_of, may_trigger
from domain.ports import LabelChange
from domain.states import State

SAME_MOMENT = timedelta(seconds=2)
"""By how much a forge's time of an issue's last change may differ from that of the label that was it."""


def missed_labels(
    issue: Issue,
    changes: Iterable[LabelChange],
    serving: Serving,
    *,
    since: datetime,
    ended_at: datetime | None,
) -> tuple[LabelChange, ...]:
    """Return who put the labels on that stand now and ask for work, oldest first.

    Not those from before `since`: they were no wish addressed to us. Nor, where the issue's task was ended on
    purpose at `ended_at`, those from before that: only a label that was put on again asks anew.
    """
    standing: dict[str, LabelChange] = {}
    for change in changes:
        name = change.label.strip().lower()
        standing.pop(name, None)
        if change.added:
            standing[name] = change
    there = {label.strip().lower() for label in issue.labels}
    return tuple(
        change
        for name, change in standing.items()
        if name in there
        and category_of(name, serving)
        and change.at >= since
        and (ended_at is None or change.at > ended_at)
    )


def is_text_vouched_for(issue: Issue, placed: LabelChange, author_may: Permission) -> bool:
    """Tell whether an issue reads as it did when it was labelled, or is by somebody who may ask for work.

    A delivery brings the text as it was; a sweep sees only the text as it is, which its author could have
    rewritten after a maintainer approved it. A forge that does not say when an issue changed is not trusted.
    """
    if may_trigger(author_may, issue.author):
        return True
    return issue.changed_at is not None and issue.changed_at <= placed.at + SAME_MOMENT


def missed_removal(
    task: Task, issue: Issue, changes: Iterable[LabelChange], serving: Serving, *, asked_at: datetime
) -> LabelChange | None:
    """Return who took the task's label off after a person last asked for the task, or None.

    None as well where `has_lost_label` is false.
    """
    if not has_lost_label(task, issue, serving):
        return None
    removals = [
        change
        for change in changes
        if not change.added
        and category_of(change.label, serving) is task.category
        and _is_after(change.at, asked_at)
    ]
    return removals[-1] if removals else None


def _is_after(moment: datetime, asked_at: datetime) -> bool:
    """Tell whether a removal came after a wish. As the label is off now, one in the same second did.

    Only a forge that tells of whole seconds leaves that open.
    """
    return moment >= asked_at.replace(microsecond=0) if moment.microsecond == 0 else moment > asked_at


def missed_commands(
    comments: Iterable[Comment], *, since: datetime, heard: Container[str], ourselves: Actor
) -> tuple[tuple[Comment, Verb], ...]:
    """Return the commands in comments after `since` that nobody told us of, oldest first.

    Only a comment that still reads as it was written commands: one that was made into a command later does
    not, and of one that was edited nobody knows what it was.
    """
    found = (
        (comment, parse_command(comment.body))
        for comment in comments
        if comment.created_at > since
        and comment.id not in heard
        and not comment.author.is_bot
        and comment.author.id != ourselves.id
        and (comment.changed_at is None or comment.changed_at <= comment.created_at)
    )
    commands = [(comment, verb) for comment, verb in found if verb is not None]
    return tuple(sorted(commands, key=lambda each: each[0].created_at))


def has_lost_label(task: Task, issue: Issue, serving: Serving) -> bool:
    """Tell whether no label of the task's category is on, and that matters: once in review it does not."""
    if task.state is State.IN_REVIEW:
        return False
    return all(category_of(label, serving) is not task.category for label in issue.labels)
