"""Deliveries that we write ourselves: facts found on a forge, brought through the same door as webhooks."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime

from domain.asking import approval_by_reaction
from domain.events import (
    CommandGiven,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Verb,
    parse_address,
)
from domain.model import Actor, Comment, Issue, IssueRef, Pull, Repository
from domain.ports import Delivery, LabelChange

Found = CommandGiven | IssueClosed | IssueLabelled | IssueUnlabelled | PullClosed


def labelled(repository: Repository, issue: Issue, placed: LabelChange, now: datetime) -> Delivery:
    """Return the delivery that should have come when a label was put on. Title and body are today's."""
    event = IssueLabelled(
        issue=IssueRef(forge=repository.forge, repository_id=repository.id, number=issue.number),
        repository_name=repository.full_name,
        actor=placed.actor,
        label=placed.label,
        title=issue.title,
        body=issue.body,
        at=placed.at,
    )
    return _delivery(event, f"labelled {placed.label}", placed.at, now)


def unlabelled(issue: IssueRef, removed: LabelChange, now: datetime) -> Delivery:
    """Return the delivery that should have come when a label was taken off."""
    event = IssueUnlabelled(issue=issue, actor=removed.actor, label=removed.label, at=removed.at)
    return _delivery(event, f"unlabelled {removed.label}", removed.at, now)


def commanded(issue: IssueRef, comment: Comment, verb: Verb, now: datetime) -> Delivery:
    """Return the delivery that should have come when a command was written.

    How the issue read then is not known: work goes on with the text on which it was asked for before.
    """
    event = CommandGiven(
        issue=issue,
        actor=comment.author,
        verb=verb,
        comment_id=comment.id,
        text=comment.body,
        addressed=parse_address(comment.body),
        at=comment.created_at,
    )
    return _delivery(event, f"comment {comment.id}", comment.created_at, now)


def approved(issue: IssueRef, name: str, comment_id: str, actor: Actor, now: datetime) -> Delivery:
    """Return the delivery that forges do not send when somebody puts a thumb up on what waits.

    It counts once for each person and comment: no time is part of its name.
    """
    event = approval_by_reaction(issue, name, comment_id, actor)
    return named_delivery(event, f"found {issue.repository_id}#{issue.number} {event.comment_id}", now)


def issue_closed(issue: IssueRef, witness: Actor, asked_at: datetime, now: datetime) -> Delivery:
    """Return the delivery of an issue's end; `witness` saw it, who did it is not asked.

    It counts once for each time that a person asked for the task.
    """
    return _delivery(IssueClosed(issue=issue, actor=witness), "closed", asked_at, now)


def pull_closed(issue: IssueRef, pull: Pull, witness: Actor, asked_at: datetime, now: datetime) -> Delivery:
    """Return the delivery of a pull request's end, otherwise like an issue's; `issue` is the task's."""
    its_own = IssueRef(forge=issue.forge, repository_id=issue.repository_id, number=pull.number)
    event = PullClosed(issue=its_own, actor=witness, head_branch=pull.head_branch, merged=pull.merged)
    return _delivery(event, "pull request merged" if pull.merged else "pull request closed", asked_at, now)


def _delivery(event: Found, what: str, at: datetime, now: datetime) -> Delivery:
    """Name a fact by what it is, so that finding it again is a duplicate."""
    where = f"{event.issue.repository_id}#{event.issue.number}"
    return named_delivery(event, f"sweep {where} {what} {at.isoformat()}", now)


def named_delivery(event: Found, name: str, now: datetime) -> Delivery:
    """Return a delivery of our own with a name; a second one of the same name is a duplicate."""
    facts = {"found_by": "sweep", "fact": name, "actor": event.actor.login, "actor_id": event.actor.id}
    if isinstance(event, IssueLabelled):
        facts |= {"title": event.title, "body": event.body}
    elif isinstance(event, CommandGiven):
        facts |= {"text": event.text}
    return Delivery(
        provider=event.issue.forge,
        delivery_id=name,
        body_sha256=hashlib.sha256(name.encode("utf-8", "replace")).hexdigest(),
        body=json.dumps(facts).encode("ascii"),
        received_at=now,
        event=event,
        is_found=True,
    )
