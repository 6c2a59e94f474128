"""Makers of plain values for the store's tests."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from domain.events import CommandGiven, Event, IssueLabelled, PullClosed, Verb
from domain.model import Actor, Category, IssueRef, Publication, PublicationKind, Pull, Task
from domain.policy import Serving, admit
from domain.ports import Admission, Delivery, Intent
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CATEGORIES = {"bug": Category.BUG, "docs": Category.DOCS}
SERVING = Serving(repositories=frozenset({"local:octo/lamp"}), own_ids={"local": "1"}, labels=CATEGORIES)
MAINTAINER = Actor(id="7", login="ada")
LEASE = 30.0
WORKER = "worker-1/aaaa"


class SetClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = NOON

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()

    def forward(self, **by: float) -> None:
        self.moment += timedelta(**by)


def policy(event: Event) -> Admission:
    return admit(event, SERVING)


def issue(number: int = 12, repository_id: str = "501") -> IssueRef:
    return IssueRef(forge="local", repository_id=repository_id, number=number)


def labelled(number: int = 12, *, label: str = "bug", body: str = "It breaks.") -> IssueLabelled:
    return IssueLabelled(
        issue=issue(number),
        repository_name="octo/lamp",
        actor=MAINTAINER,
        label=label,
        title="Lamp stays dark",
        body=body,
    )


def command(
    number: int = 12, *, verb: Verb = Verb.RETRY, repository_id: str = "501", text: str = "/fixwright retry"
) -> CommandGiven:
    return CommandGiven(
        issue=issue(number, repository_id), actor=MAINTAINER, verb=verb, comment_id="c1", text=text
    )


def pull_closed(number: int, branch: str, *, merged: bool = True, repository_id: str = "501") -> PullClosed:
    return PullClosed(issue=issue(number, repository_id), actor=MAINTAINER, head_branch=branch, merged=merged)


def delivery(event: Event, key: str = "d-1", *, body: bytes | None = None) -> Delivery:
    """Return a delivery whose body is made from its key, so that another key is another body."""
    content = f'{{"delivery": "{key}"}}'.encode() if body is None else body
    return Delivery(
        provider="local",
        delivery_id=key,
        body_sha256=hashlib.sha256(content).hexdigest(),
        body=content,
        received_at=NOON,
        event=event,
    )


def admit_task(inbox: SqliteInbox, queue: SqliteTaskQueue, number: int = 12) -> Task:
    """Put a QUEUED task into the store through the front door."""
    (answer,) = inbox.accept([delivery(labelled(number), f"admit-{number}")], policy)
    assert answer.task_id is not None
    return queue.task(answer.task_id)


def running_task(inbox: SqliteInbox, queue: SqliteTaskQueue, number: int = 12) -> Task:
    """Put a RUNNING task into the store."""
    admit_task(inbox, queue, number)
    task = queue.claim(WORKER, LEASE)
    assert task is not None
    return task


def publish(
    queue: SqliteTaskQueue, task: Task, *, branch: str, pull_number: int | None, tree: str = "t1"
) -> Publication:
    """Write an intent of a RUNNING task and, given a pull request's number, finish it."""
    intent = queue.intend(
        task,
        queue.begin_attempt(task),
        Intent(
            kind=PublicationKind.PULL,
            branch=branch,
            commit_sha=f"c-{tree}",
            tree=tree,
            expected_sha="",
            title="Fix the lamp",
            body="It was dark.",
        ),
    )
    return intent if pull_number is None else queue.published(intent, pull=pull(pull_number, branch))


def pull(number: int, branch: str) -> Pull:
    return Pull(
        number=number,
        url=f"http://forge/pulls/{number}",
        title="Fix the lamp",
        body="It was dark.",
        head_branch=branch,
        head_sha="c-t1",
        base_branch="main",
        is_open=True,
        is_draft=True,
    )
