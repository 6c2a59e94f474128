"""What the door keeps out and writes down: the full queue, the old wish, errands, what was asked again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.events import Event, Verb
from domain.model import Outcome, Reason
from domain.noted import InstallationChanged, IssueChanged, RepositoryChanged
from domain.policy import admit
from domain.ports import Admission, Landing
from domain.states import State, Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.redeliveries import SqliteRedeliveries
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    CATEGORIES,
    MAINTAINER,
    NOON,
    SERVING,
    admit_task,
    command,
    delivery,
    issue,
    labelled,
    policy,
    running_task,
)

OLD = NOON - timedelta(hours=25)


def today(event: Event) -> Admission:
    return admit(event, SERVING, NOON)


@pytest.fixture
def small(database: Database) -> SqliteInbox:
    """An inbox in which two tasks of a repository may wait."""
    return SqliteInbox(database, CATEGORIES, most_queued=2)


def test_f124_no_more_than_so_many_tasks_of_a_repository_wait(
    small: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    batch = [delivery(labelled(number), f"d-{number}") for number in range(1, 5)]
    answers = [answer.admission for answer in small.accept(batch, policy)]
    assert answers == [Admission.QUEUED] * 2 + [Admission.QUEUE_FULL] * 2
    assert queue.waiting("local", "501") == 2 and len(queue.tasks()) == 2

    again, *_ = small.accept([delivery(labelled(1), "again")], policy)
    assert again.admission is Admission.LIVE_TASK, "one that waits already is no further one"
    other = replace(labelled(1), issue=issue(1, "777"))
    assert small.accept([delivery(other, "other")], policy)[0].admission is Admission.QUEUED

    queue.claim("worker/a", 60)
    assert small.accept([delivery(labelled(9), "room")], policy)[0].admission is Admission.QUEUED
    assert small.accept([delivery(labelled(8), "full")], policy)[0].admission is Admission.QUEUE_FULL


def test_what_a_sweep_has_found_is_not_kept_out(small: SqliteInbox) -> None:
    small.accept([delivery(labelled(number), f"d-{number}") for number in (1, 2)], policy)
    found = replace(delivery(labelled(3), "sweep"), is_found=True)
    assert small.accept([found], policy)[0].admission is Admission.QUEUED


def test_f115_an_old_wish_is_written_down_and_begins_nothing(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    (answer,) = inbox.accept([delivery(replace(labelled(), at=OLD))], today)
    assert answer.admission is Admission.TOO_OLD and answer.task_id is None
    assert queue.tasks() == []
    assert [errand.admission for errand in queue.errands(9)] == [Admission.TOO_OLD]


def test_an_old_wish_counts_where_we_asked_for_its_redelivery(
    inbox: SqliteInbox, queue: SqliteTaskQueue, database: Database
) -> None:
    asked = SqliteRedeliveries(database)
    asked.note("local", "d-1", NOON)
    asked.note("local", "d-2", NOON)
    old = [
        delivery(replace(labelled(), at=OLD), "d-1"),
        delivery(replace(command(verb=Verb.RESUME), at=OLD), "d-2"),
        delivery(replace(labelled(13), at=OLD), "d-3"),
    ]
    answers = [answer.admission for answer in inbox.accept(old, today)]
    assert answers == [Admission.QUEUED, Admission.SIGNAL, Admission.TOO_OLD]
    assert queue.tasks()[0].word_at == OLD


def test_redeliveries_are_counted_over_restarts(database: Database, inbox: SqliteInbox) -> None:
    log = SqliteRedeliveries(database)
    log.note("local", "a", NOON)
    log.note("local", "a", NOON + timedelta(hours=1))
    inbox.accept([delivery(labelled(), "b")], policy)
    again = SqliteRedeliveries(database)
    (asked,) = again.asked("local", ["a", "b"]).values()
    assert (asked.times, asked.at) == (2, NOON + timedelta(hours=1))
    assert again.known("local", ["a", "b"]) == {"b"}
    assert again.asked("github", ["a"]) == {} and again.known("github", ["b"]) == frozenset()


# -- errands and places -----------------------------------------------------------------------------


def test_news_of_a_place_become_an_errand_with_a_decision(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    news = [
        RepositoryChanged(
            forge="local", action="archived", actor=MAINTAINER, repository_id="501", former_name="a/b"
        ),
        InstallationChanged(
            forge="local",
            action="suspend",
            actor=MAINTAINER,
            installation_id="9",
            account="octo",
            added=("a/b",),
        ),
    ]
    batch = [delivery(event, f"n-{number}") for number, event in enumerate(news)]
    assert [answer.admission for answer in inbox.accept(batch, policy)] == [Admission.ERRAND] * 2
    first, second = queue.errands(9)
    assert [first.event, second.event] == news
    assert queue.errands(1) == [first]
    queue.end_errand(first, "left as it is")
    queue.end_errand(first, "something else")
    assert queue.errands(9) == [second]


def test_an_issue_s_change_reaches_its_task_and_no_other(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = admit_task(inbox, queue)

    def locked(number: int | None) -> IssueChanged:
        return IssueChanged(
            forge="local", action="locked", actor=MAINTAINER, repository_id="501", number=number
        )

    batch = [delivery(locked(12), "l-1"), delivery(locked(13), "l-2"), delivery(locked(None), "l-3")]
    answers = [(each.admission, each.task_id) for each in inbox.accept(batch, policy)]
    assert answers == [(Admission.SIGNAL, task.id), (Admission.NO_TASK, None), (Admission.NOTED, None)]
    (signal,) = queue.signals()
    assert signal.event == locked(12)


def test_places_are_those_with_live_tasks(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    for number, repository_id in ((1, "501"), (2, "501"), (1, "777")):
        event = replace(labelled(number), issue=issue(number, repository_id))
        inbox.accept([delivery(event, f"{repository_id}-{number}")], policy)
    assert queue.places("local") == [("501", "octo/lamp"), ("777", "octo/lamp")]
    assert queue.places("github") == []
    assert [task.issue.number for task in queue.tasks_at("local", "501")] == [1, 2]
    queue.move(queue.tasks_at("local", "777")[0], Trigger.CANCELLED)
    assert queue.places("local") == [("501", "octo/lamp")] and queue.tasks_at("local", "777") == []


# -- words and going on -----------------------------------------------------------------------------


def test_the_newest_word_is_remembered(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    inbox.accept([delivery(replace(labelled(), at=NOON))], policy)
    task = queue.task(1)
    assert task.word_at == NOON
    cancelled = queue.move(task, Trigger.CANCELLED, Landing(word_at=NOON + timedelta(hours=1)))
    assert cancelled.word_at == NOON + timedelta(hours=1)
    again = queue.move(cancelled, Trigger.RELABELLED, Landing(word_at=NOON - timedelta(hours=1)))
    assert again.word_at == NOON + timedelta(hours=1)
    assert queue.move(again, Trigger.BLOCKED).word_at == NOON + timedelta(hours=1)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_parked_task_that_goes_on_keeps_its_attempt_and_its_counters(
    inbox: SqliteInbox, queue: SqliteTaskQueue, goes_on: bool
) -> None:
    task = running_task(inbox, queue)
    first = queue.end_attempt(queue.begin_attempt(task), Outcome.UNVERIFIED)
    attempt = queue.begin_attempt(task)
    parked = queue.move(queue.task(task.id), Trigger.BLOCKED, Landing(reason=Reason.OUT_OF_REACH))
    resumed = queue.move(parked, Trigger.RESUMED, Landing(goes_on=goes_on))
    assert (resumed.state, resumed.reason) == (State.QUEUED, None)
    assert resumed.attempts == (1 if goes_on else 0)
    outcomes = [each.outcome for each in queue.attempts(task.id)]
    assert outcomes == [first.outcome, None if goes_on else Outcome.INTERRUPTED]
    claimed = queue.claim("worker/a", 60)
    assert claimed is not None
    assert (queue.begin_attempt(claimed).id == attempt.id) is goes_on


def test_comments_that_were_heard_are_known(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = admit_task(inbox, queue)
    for name in ("c7", "c8"):
        inbox.accept([delivery(replace(command(), comment_id=name), f"d-{name}")], policy)
    first, second = queue.signals()
    assert queue.heard_comments(task.id) == {"c7", "c8"}
    assert queue.heard_comments(task.id, first.id) == frozenset()
    assert queue.heard_comments(task.id, second.id) == {"c7"}
    assert queue.heard_comments(task.id + 1) == frozenset()
