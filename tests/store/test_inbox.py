"""The inbox: a delivery applied many times is applied once, and each has a recorded decision."""

from __future__ import annotations

import dataclasses

import pytest

from domain.events import IssueClosed, IssueUnlabelled, Uninteresting, Verb
from domain.model import Category, Pull, PublicationKind, Reason
from domain.ports import Admission, Admitted
from domain.states import State, Trigger
from store.database import Database
from store.history import History
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    MAINTAINER,
    admit_task,
    command,
    delivery,
    issue,
    labelled,
    policy,
    pull_closed,
    running_task,
)


def test_labelled_issue_becomes_a_queued_task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    (answer,) = inbox.accept([delivery(labelled())], policy)

    assert answer == Admitted(admission=Admission.QUEUED, task_id=1)
    task = queue.task(1)
    assert (task.state, task.category, task.issue) == (State.QUEUED, Category.BUG, issue())
    assert (task.title, task.body, task.requested_by) == ("Lamp stays dark", "It breaks.", MAINTAINER)
    assert (task.attempts, task.generation, task.not_before) == (0, 0, None)


def test_same_delivery_again_changes_nothing_and_names_the_task(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History
) -> None:
    first = delivery(labelled())
    inbox.accept([first], policy)

    assert inbox.accept([first], policy) == [Admitted(admission=Admission.DUPLICATE, task_id=1)]
    assert len(queue.tasks()) == 1
    assert len(history.deliveries()) == 1
    assert len(history.task_events(1)) == 1
