"""The inbox: a delivery applied many times is applied once, and each has a recorded decision."""

from __future__ import annotations

import dataclasses
import os
from datetime import timedelta

import pytest

from domain.events import Event, IssueClosed, IssueUnlabelled, Uninteresting, Verb
from domain.model import Actor, Category, Reason
from domain.noted import Pinged, PullChanged
from domain.ports import Admission, Admitted, Landing
from domain.states import State, Trigger
from store.database import Database
from store.history import History
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    MAINTAINER,
    NOON,
    admit_task,
    command,
    delivery,
    issue,
    labelled,
    policy,
    publish,
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
    assert task.created_at == task.updated_at == NOON


def test_same_delivery_again_changes_nothing_and_names_the_task(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History
) -> None:
    first = delivery(labelled())
    inbox.accept([first], policy)

    assert inbox.accept([first], policy) == [Admitted(admission=Admission.DUPLICATE, task_id=1)]
    assert len(queue.tasks()) == len(history.deliveries()) == len(history.task_events(1)) == 1


def test_same_body_under_another_delivery_id_is_a_duplicate(inbox: SqliteInbox) -> None:
    inbox.accept([delivery(labelled(), "d-1", body=b"same")], policy)

    answers = inbox.accept([delivery(labelled(), "d-2", body=b"same")], policy)

    assert answers == [Admitted(admission=Admission.DUPLICATE, task_id=1)]


def test_same_delivery_id_with_another_body_is_a_duplicate(inbox: SqliteInbox) -> None:
    inbox.accept([delivery(labelled(), body=b"one")], policy)

    answers = inbox.accept([delivery(labelled(13), body=b"two")], policy)

    assert answers == [Admitted(admission=Admission.DUPLICATE, task_id=1)]


def test_another_provider_may_use_the_same_delivery_id(inbox: SqliteInbox) -> None:
    first = delivery(labelled())
    inbox.accept([first], policy)

    (answer,) = inbox.accept([dataclasses.replace(first, provider="gitea")], policy)

    assert answer == Admitted(admission=Admission.LIVE_TASK, task_id=1)


def test_duplicates_within_a_batch(inbox: SqliteInbox, queue: SqliteTaskQueue, history: History) -> None:
    copies = [delivery(labelled())] * 20

    answers = inbox.accept([*copies, delivery(command(verb=Verb.CANCEL), "d-2")], policy)

    assert [each.admission for each in answers] == [
        Admission.QUEUED,
        *[Admission.DUPLICATE] * 19,
        Admission.SIGNAL,
    ]
    assert {each.task_id for each in answers} == {1}
    assert len(queue.tasks()) == 1
    assert len(history.deliveries()) == 2


def test_a_batch_of_duplicates_leaves_no_row_at_all(inbox: SqliteInbox) -> None:
    inbox.accept([delivery(labelled())], policy)
    before = list(inbox._database._writer.iterdump())

    inbox.accept([delivery(labelled())] * 3, policy)

    assert list(inbox._database._writer.iterdump()) == before


def test_two_labels_in_one_second_give_one_task_of_the_first_category(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    answers = inbox.accept(
        [delivery(labelled(label="docs"), "a"), delivery(labelled(label="bug"), "b")], policy
    )

    assert [each.admission for each in answers] == [Admission.QUEUED, Admission.LIVE_TASK]
    assert [task.category for task in queue.tasks()] == [Category.DOCS]


def test_label_is_matched_whatever_its_case(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    inbox.accept([delivery(labelled(label=" BUG "))], policy)

    assert queue.task(1).category is Category.BUG


def test_label_without_a_category_is_never_a_task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    answers = inbox.accept([delivery(labelled(label="chore"))], lambda event: Admission.QUEUED)

    assert answers == [Admitted(admission=Admission.OTHER_LABEL, task_id=None)]
    assert queue.tasks() == []


def test_same_number_in_another_repository_is_another_task(inbox: SqliteInbox) -> None:
    other = dataclasses.replace(labelled(), issue=issue(12, "777"))

    answers = inbox.accept([delivery(labelled(), "a"), delivery(other, "b")], policy)

    assert [each.task_id for each in answers] == [1, 2]


def test_relabelling_a_cancelled_task_is_a_signal_for_the_worker(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = admit_task(inbox, queue)
    queue.move(task, Trigger.CANCELLED, Landing(reason=Reason.WITHDRAWN))

    answers = inbox.accept([delivery(labelled(body="New words \U0001f4a1"), "again")], policy)

    assert answers == [Admitted(admission=Admission.SIGNAL, task_id=task.id)]
    assert [signal.event for signal in queue.signals()] == [labelled(body="New words \U0001f4a1")]


def test_relabelling_a_done_task_does_nothing_and_says_so(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = admit_task(inbox, queue)
    queue.move(task, Trigger.MERGED)

    answers = inbox.accept([delivery(labelled(), "again")], policy)

    assert answers == [Admitted(admission=Admission.DONE_TASK, task_id=task.id)]
    assert queue.signals() == []


@pytest.mark.parametrize(
    "event",
    [
        IssueClosed(issue=issue(), actor=MAINTAINER),
        IssueUnlabelled(issue=issue(), actor=MAINTAINER, label="bug"),
        command(verb=Verb.CANCEL, text="/fixwright cancel\nbecause \x00 of \U0001f600"),
    ],
)
def test_event_about_a_task_is_kept_whole_until_decided(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History, event: Event
) -> None:
    task = admit_task(inbox, queue)

    (answer,) = inbox.accept([delivery(event)], policy)

    assert answer == Admitted(admission=Admission.SIGNAL, task_id=task.id)
    (signal,) = queue.signals()
    assert (signal.task_id, signal.event) == (task.id, event)
    queue.decide(signal, "moved: cancelled")
    queue.decide(signal, "a second thought")
    assert queue.signals() == []
    assert history.deliveries(1)[0].decision == "moved: cancelled"


def test_event_about_no_task_is_recorded(inbox: SqliteInbox, history: History) -> None:
    answers = inbox.accept([delivery(command(99))], policy)

    assert answers == [Admitted(admission=Admission.NO_TASK, task_id=None)]
    (record,) = history.deliveries()
    assert (record.kind, record.note, record.issue_number) == ("CommandGiven", "retry", 99)


def test_what_is_only_noted_is_written_down_with_what_it_tells(inbox: SqliteInbox, history: History) -> None:
    here = {"forge": "local", "actor": MAINTAINER, "repository_id": "501", "repository_name": "octo/lamp"}
    pushed = PullChanged(action="synchronize", number=12, **here)  # type: ignore[arg-type]  # for brevity
    pinged = Pinged(forge="local", action="ping", actor=Actor(id="", login=""))
    events: list[Event] = [labelled(), pushed, pinged]
    accepted = inbox.accept([delivery(event, str(n)) for n, event in enumerate(events)], policy)
    assert accepted[1:] == [Admitted(admission=Admission.NOTED, task_id=None)] * 2
    newest, older = history.deliveries(limit=2)
    assert (newest.kind, newest.note, newest.issue_number) == ("Pinged", "ping", None)
    assert (older.kind, older.note, older.actor) == ("PullChanged", "synchronize", MAINTAINER.login)
    assert (older.repository_id, older.issue_number) == ("501", 12)


def test_what_the_policy_turns_away_is_recorded_as_it_said(inbox: SqliteInbox, history: History) -> None:
    bot = dataclasses.replace(labelled(), actor=Actor(id="1", login="fixwright", is_bot=True))
    elsewhere = dataclasses.replace(labelled(), repository_name="octo/other")
    events: list[Event] = [
        Uninteresting(why="ping"),
        bot,
        elsewhere,
        labelled(label="question"),
    ]

    answers = inbox.accept([delivery(event, str(n)) for n, event in enumerate(events)], policy)

    expected = ["uninteresting", "own_event", "not_served", "other_label"]
    assert [each.admission.value for each in answers] == expected
    assert [each.admission.value for each in reversed(history.deliveries())] == expected


def test_closed_pull_is_mapped_by_its_branch(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    publish(queue, task, branch="fixwright/issue-12", pull_number=57)
    admit_task(inbox, queue, number=57)

    (ours, no_branch, stranger, elsewhere) = inbox.accept(
        [
            delivery(pull_closed(57, "fixwright/issue-12"), "a"),
            delivery(pull_closed(57, ""), "b"),
            delivery(pull_closed(57, "feature"), "c"),
            delivery(pull_closed(57, "fixwright/issue-12", repository_id="777"), "d"),
        ],
        policy,
    )

    assert ours == Admitted(admission=Admission.SIGNAL, task_id=task.id)
    assert {no_branch.admission, stranger.admission, elsewhere.admission} == {Admission.NO_TASK}


def test_closed_pull_is_known_before_its_number_was_noted(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    publish(queue, task, branch="fixwright/issue-12", pull_number=None)

    (answer,) = inbox.accept([delivery(pull_closed(57, "fixwright/issue-12"))], policy)

    assert answer == Admitted(admission=Admission.SIGNAL, task_id=task.id)


def test_command_on_our_pull_concerns_its_task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    publish(queue, task, branch="fixwright/issue-12", pull_number=57)

    (ours, human, elsewhere) = inbox.accept(
        [
            delivery(command(57), "a"),
            delivery(command(58), "b"),
            delivery(command(57, repository_id="777"), "c"),
        ],
        policy,
    )

    assert ours == Admitted(admission=Admission.SIGNAL, task_id=task.id)
    assert human.admission is elsewhere.admission is Admission.NO_TASK


def test_command_on_a_number_that_is_an_issue_of_ours_concerns_the_issue(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    publish(queue, task, branch="fixwright/issue-12", pull_number=57)
    other = admit_task(inbox, queue, number=57)

    (answer,) = inbox.accept([delivery(command(57))], policy)

    assert answer.task_id == other.id


def test_order_within_a_batch_is_kept(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    closed = IssueClosed(issue=issue(), actor=MAINTAINER)

    before, label, after = inbox.accept(
        [delivery(closed, "a"), delivery(labelled(), "b"), delivery(closed, "c")], policy
    )

    assert before.admission is Admission.NO_TASK
    assert label.admission is Admission.QUEUED
    assert after == Admitted(admission=Admission.SIGNAL, task_id=label.task_id)


def test_ten_commands_are_ten_signals_in_order(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    admit_task(inbox, queue)
    texts = [f"/fixwright retry\nhint {n}" for n in range(10)]

    inbox.accept([delivery(command(text=text), f"c{n}") for n, text in enumerate(texts)], policy)

    assert [getattr(signal.event, "text", "") for signal in queue.signals()] == texts


def test_half_a_surrogate_pair_poisons_nothing(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    odd = dataclasses.replace(labelled(body="half \ud83d"), title="\ude00 title")
    inbox.accept([delivery(odd, "a"), delivery(labelled(13), "b")], policy)
    inbox.accept([delivery(command(text="/fixwright retry\n\ud83d"), "c")], policy)

    assert (queue.task(1).title, queue.task(1).body) == ("? title", "half ?")
    assert [getattr(signal.event, "text", "") for signal in queue.signals()] == ["/fixwright retry\n?"]


def test_when_the_policy_fails_nothing_is_stored(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History
) -> None:
    def fail(event: Event) -> Admission:
        raise RuntimeError("policy")

    with pytest.raises(RuntimeError):
        inbox.accept([delivery(labelled())], fail)

    assert history.deliveries() == []
    assert inbox.accept([delivery(labelled())], policy)[0].admission is Admission.QUEUED


def test_batch_is_all_or_nothing(inbox: SqliteInbox, history: History) -> None:
    impossible = dataclasses.replace(labelled(), issue=issue(2**70))

    with pytest.raises(OverflowError):
        inbox.accept([delivery(labelled(), "a"), delivery(impossible, "b")], policy)

    assert history.deliveries() == []
    assert inbox.accept([delivery(labelled(), "a")], policy)[0].admission is Admission.QUEUED


def test_empty_batch(inbox: SqliteInbox) -> None:
    assert inbox.accept([], policy) == []


def test_bodies_come_back_byte_for_byte(inbox: SqliteInbox, history: History) -> None:
    bodies = [bytes([n]) * (200_000 + n) for n in range(12)] + [b"", b"\x00\xff"]

    inbox.accept([delivery(labelled(n + 1), f"d{n}", body=body) for n, body in enumerate(bodies)], policy)

    assert [history.delivery_body(n + 1) for n in range(len(bodies))] == bodies
    with pytest.raises(KeyError):
        history.delivery_body(99)


def test_forgotten_bodies_leave_the_decision_and_the_memory_of_them(
    inbox: SqliteInbox, history: History
) -> None:
    old = delivery(labelled())
    late = dataclasses.replace(delivery(labelled(13), "d-2"), received_at=NOON.replace(hour=18))
    inbox.accept([old], policy)
    inbox.accept([late], policy)

    assert inbox.forget_bodies(NOON.replace(hour=15)) == 1
    assert inbox.forget_bodies(NOON.replace(hour=15)) == 0

    assert history.delivery_body(1) is None
    assert history.delivery_body(2) == late.body
    assert inbox.accept([old], policy)[0].admission is Admission.DUPLICATE


def test_history_of_one_task(inbox: SqliteInbox, queue: SqliteTaskQueue, history: History) -> None:
    admit_task(inbox, queue)
    inbox.accept([delivery(labelled(), "again"), delivery(command(99), "other")], policy)

    assert [each.delivery_id for each in history.deliveries(task_id=1)] == ["again", "admit-12"]
    assert [each.delivery_id for each in history.deliveries(1)] == ["other"]


def test_label_after_a_signal_that_still_waits_is_heard_in_its_turn(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    admit_task(inbox, queue)
    off = IssueUnlabelled(issue=issue(), actor=MAINTAINER, label="bug")
    flap = [delivery(off, "off"), delivery(labelled(), "on")]

    answers = inbox.accept(flap, policy) + inbox.accept([delivery(labelled(), "on, once more")], policy)

    assert [each.admission for each in answers] == [Admission.SIGNAL] * 3
    for signal in queue.signals():
        queue.decide(signal, "seen")
    (later,) = inbox.accept([delivery(labelled(), "later")], policy)
    assert later.admission is Admission.LIVE_TASK


def test_label_by_somebody_else_is_heard_while_the_task_waits(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = admit_task(inbox, queue)
    other = dataclasses.replace(labelled(), actor=Actor(id="77", login="kim"))

    (answer,) = inbox.accept([delivery(other, "other")], policy)

    assert answer == Admitted(admission=Admission.SIGNAL, task_id=task.id)


def test_the_oldest_bodies_beyond_the_bytes_go_some_at_a_time(inbox: SqliteInbox, database: Database) -> None:
    for number in range(6):
        inbox.accept([delivery(labelled(number + 1), f"d-{number}", body=os.urandom(1000))], policy)
    with database.read() as connection:
        size = connection.execute("SELECT max(length(content)) FROM body_packs").fetchone()[0]

    def kept() -> list[int]:
        with database.read() as connection:
            rows = connection.execute("SELECT id FROM body_packs WHERE content IS NOT NULL ORDER BY id")
            return [row["id"] for row in rows.fetchall()]

    long_ago = NOON - timedelta(days=1)
    assert inbox.forget_bodies(long_ago, 3 * size, at_most=2) == 2
    assert kept() == [3, 4, 5, 6]
    assert inbox.forget_bodies(long_ago, 3 * size, at_most=2) == 1
    assert inbox.forget_bodies(long_ago, 3 * size, at_most=2) == 0
    assert inbox.forget_bodies(long_ago) == 0
    assert kept() == [4, 5, 6]
    assert len(History(database).deliveries()) == 6
