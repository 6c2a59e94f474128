"""Labels of repositories' own and outcomes of pull requests in the database."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.model import Actor, Category, PublicationKind
from domain.policy import AGE_WINDOW
from domain.ports import Admission, Intent
from domain.states import Trigger
from store.contracts import SqliteContracts
from store.database import Database
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import SetClock, delivery, labelled, policy, pull, pull_closed, running_task


@pytest.fixture
def contracts(database: Database, clock: SetClock) -> SqliteContracts:
    return SqliteContracts(database, clock)


def test_labels_are_replaced_whole_and_per_repository(contracts: SqliteContracts) -> None:
    contracts.keep_labels("local", "501", {" Defect ": Category.BUG, "x": Category.DOCS})
    contracts.keep_labels("local", "502", {"x": Category.CHORE})
    contracts.keep_labels("local", "501", {"y": Category.DOCS})
    assert contracts.labels_of("local", "501") == {"y": Category.DOCS}
    assert contracts.labels_of("local", "502") == {"x": Category.CHORE}
    assert contracts.labels_of("github", "502") == {}


def test_a_label_of_ones_own_is_a_task_at_the_door(contracts: SqliteContracts, inbox: SqliteInbox) -> None:
    contracts.keep_labels("local", "501", {"defect": Category.CHORE})
    answers = inbox.accept(
        [
            delivery(labelled(1, label="DEFECT"), "a"),
            delivery(labelled(2, label="other"), "b"),
            delivery(replace(labelled(3, label="defect"), repository_name="else/where"), "c"),
        ],
        policy,
    )
    assert [answer.admission for answer in answers] == [
        Admission.QUEUED,
        Admission.OTHER_LABEL,
        Admission.NOT_SERVED,
    ]


def test_a_label_of_ones_own_that_comes_too_late_begins_nothing(
    contracts: SqliteContracts, inbox: SqliteInbox, clock: SetClock
) -> None:
    contracts.keep_labels("local", "501", {"defect": Category.CHORE})
    put_on = clock.now() - AGE_WINDOW - timedelta(minutes=1)
    late = delivery(replace(labelled(1, label="defect"), at=put_on), "late")
    (answer,) = inbox.accept([replace(late, received_at=clock.now())], policy)
    assert (answer.admission, answer.task_id) == (Admission.TOO_OLD, None)


def test_outcomes_are_never_changed_and_expiry_is_written_once(
    contracts: SqliteContracts, inbox: SqliteInbox, queue: SqliteTaskQueue, database: Database
) -> None:
    task = running_task(inbox, queue)
    us = Actor(id="1", login="bot")
    assert contracts.expire(task, 3, us) and not contracts.expire(task, 3, us)
    assert [each.kind for each in contracts.outcomes()] == ["expired"]
    for statement in ("UPDATE pull_outcomes SET kind = 'merged'", "DELETE FROM pull_outcomes"):
        with pytest.raises(sqlite3.Error), database.write() as connection:
            connection.execute(statement)


def test_pull_requests_are_counted_but_a_tasks_own(
    contracts: SqliteContracts, inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    first, second = running_task(inbox, queue, 1), running_task(inbox, queue, 2)
    intent = Intent(
        kind=PublicationKind.PULL, branch="b", commit_sha="c", tree="t", expected_sha="", title="", body="",
        base_branch="develop",
    )  # fmt: skip
    attempt = queue.begin_attempt(first)
    publication = queue.intend(first, attempt, intent)
    assert publication.base_branch == "develop"
    queue.published(publication, pull=pull(9, "b"))
    queue.move(first, Trigger.PUBLISHED)
    begun = clock.now()
    count = contracts.pull_count(second, begun)
    assert (count.open, count.new) == (1, 1)
    assert contracts.pull_count(first, begun).open == 0
    clock.forward(minutes=5)
    assert contracts.pull_count(second, clock.now()).new == 0
    inbox.accept([delivery(pull_closed(9, "b"), "merged")], policy)
    assert [(each.pull_number, each.kind) for each in contracts.outcomes()] == [(9, "merged")]
