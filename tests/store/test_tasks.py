"""The queue: claims under a lease, compare-and-set moves, history."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from domain.errors import IllegalTransition, StaleWrite
from domain.model import Outcome, Reason
from domain.ports import Landing
from domain.states import TRANSITIONS, State, Trigger
from store.database import Database
from store.history import History
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import LEASE, NOON, WORKER, SetClock, admit_task, issue, running_task


def test_claim_takes_the_oldest_under_a_new_generation(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    first, second = admit_task(inbox, queue, 1), admit_task(inbox, queue, 2)

    claimed = [queue.claim(WORKER, LEASE) for _ in range(3)]

    assert [task and task.id for task in claimed] == [first.id, second.id, None]
    assert claimed[0] is not None
    assert (claimed[0].state, claimed[0].generation) == (State.RUNNING, 1)
    assert queue.task(first.id) == claimed[0]


def test_deferred_task_is_claimed_when_it_is_due(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    later = NOON + timedelta(hours=12)
    task = queue.move(
        admit_task(inbox, queue),
        Trigger.DEFERRED,
        Landing(not_before=later, detail="daily budget is used up"),
    )

    assert (task.not_before, task.detail) == (later, "daily budget is used up")
    assert queue.claim(WORKER, LEASE) is None
    assert queue.next_due() == later
    clock.forward(hours=12)
    claimed = queue.claim(WORKER, LEASE)
    assert claimed is not None
    assert (claimed.id, claimed.not_before, claimed.detail) == (task.id, None, "")


def test_next_due(inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock) -> None:
    assert queue.next_due() is None
    task = admit_task(inbox, queue)
    assert queue.next_due() == NOON
    queue.move(task, Trigger.DEFERRED, Landing(not_before=NOON + timedelta(hours=1)))
    clock.forward(hours=2)
    assert queue.next_due() == NOON + timedelta(hours=2)
    queue.claim(WORKER, LEASE)
    assert queue.next_due() is None


def test_task_is_claimed_even_if_the_clock_stepped_back(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    task = running_task(inbox, queue)
    queue.move(task, Trigger.RETRIED)
    clock.forward(minutes=-10)

    assert queue.claim(WORKER, LEASE) is not None


def test_heartbeat_extends_the_lease_of_the_holder_only(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    task = running_task(inbox, queue)
    clock.forward(seconds=LEASE - 1)
    queue.heartbeat(task, LEASE)
    clock.forward(seconds=LEASE - 1)
    assert queue.orphans("other/1") == []
    clock.forward(seconds=1)
    assert queue.orphans("other/1") == [task]

    queue.move(task, Trigger.RELEASED)
    with pytest.raises(StaleWrite):
        queue.heartbeat(task, LEASE)
    again = queue.claim("other/1", LEASE)
    assert again is not None
    with pytest.raises(StaleWrite):
        queue.heartbeat(task, LEASE)
    queue.heartbeat(again, LEASE)


@pytest.mark.parametrize(
    ("asking", "is_orphan"),
    [
        ("worker-1/bbbb", True),
        ("worker-1/aaaa", False),
        ("worker-2/aaaa", False),
        ("worker-10/bbbb", False),
        ("worker/bbbb", False),
    ],
)
def test_earlier_life_of_the_same_worker_leaves_orphans_at_once(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock, asking: str, is_orphan: bool
) -> None:
    task = running_task(inbox, queue)
    clock.forward(minutes=-10)

    assert queue.orphans(asking) == ([task] if is_orphan else [])


def test_worker_without_lives_waits_for_the_lease(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    admit_task(inbox, queue)
    queue.claim("solo", LEASE)

    assert queue.orphans("solo") == []
    clock.forward(seconds=LEASE)
    assert len(queue.orphans("solo")) == 1


def test_every_move_of_the_table_is_applied_and_recorded(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History, database: Database
) -> None:
    task = admit_task(inbox, queue)
    for state, moves in TRANSITIONS.items():
        for trigger, target in moves.items():
            if trigger is Trigger.CLAIMED:
                continue
            _force(database, state)
            moved = queue.move(queue.task(task.id), trigger, Landing(reason=Reason.GUARD, detail="why"))
            assert moved == queue.task(task.id)
            assert (moved.state, moved.reason, moved.detail) == (target, Reason.GUARD, "why")
            last = history.task_events(task.id)[-1]
            assert (last.trigger, last.came_from, last.went_to) == (trigger, state, target)
            assert (last.reason, last.detail) == (Reason.GUARD, "why")


def test_illegal_moves_raise_and_change_nothing(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History
) -> None:
    task = admit_task(inbox, queue)

    for trigger in (Trigger.CLAIMED, Trigger.PUBLISHED, Trigger.ADMITTED):
        with pytest.raises(IllegalTransition):
            queue.move(task, trigger)

    assert queue.task(task.id) == task
    assert len(history.task_events(task.id)) == 1


def test_move_from_a_stale_view_is_refused(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    running = running_task(inbox, queue)
    cancelled = queue.move(running, Trigger.CANCELLED, Landing(reason=Reason.WITHDRAWN))

    with pytest.raises(StaleWrite):
        queue.move(running, Trigger.PUBLISHED)

    assert queue.task(running.id) == cancelled


def test_move_of_an_earlier_generation_is_refused(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    before = running_task(inbox, queue)
    queue.move(before, Trigger.RELEASED)
    now = queue.claim(WORKER, LEASE)

    with pytest.raises(StaleWrite):
        queue.move(before, Trigger.BLOCKED, Landing(reason=Reason.CRASH_LOOP))

    assert now == queue.task(before.id)


def test_move_of_an_unknown_task_is_stale(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    ghost = dataclasses.replace(admit_task(inbox, queue), id=99)

    with pytest.raises(StaleWrite):
        queue.move(ghost, Trigger.CANCELLED)
    with pytest.raises(KeyError):
        queue.task(99)


def test_reason_stays_on_the_way_to_cancelled_and_goes_on_the_way_back(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = queue.move(
        running_task(inbox, queue), Trigger.BLOCKED, Landing(reason=Reason.TASK_LIMIT, detail="$2 spent")
    )
    cancelled = queue.move(task, Trigger.CANCELLED)
    assert (cancelled.reason, cancelled.detail) == (Reason.TASK_LIMIT, "$2 spent")

    queued = queue.move(cancelled, Trigger.RELABELLED)
    assert (queued.reason, queued.detail) == (None, "")


def test_new_reason_does_not_keep_the_old_detail(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = queue.move(
        running_task(inbox, queue), Trigger.BLOCKED, Landing(reason=Reason.TASK_LIMIT, detail="$2 spent")
    )

    cancelled = queue.move(task, Trigger.CANCELLED, Landing(reason=Reason.WITHDRAWN))

    assert (cancelled.reason, cancelled.detail) == (Reason.WITHDRAWN, "")


def test_recoveries_are_set_and_a_fresh_start_clears_the_counters(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    queue.end_attempt(queue.begin_attempt(task), Outcome.UNVERIFIED)
    released = queue.move(task, Trigger.RELEASED, Landing(recoveries=3))
    assert (released.recoveries, released.attempts) == (3, 1)
    again = queue.claim(WORKER, LEASE)
    assert again is not None
    blocked = queue.move(again, Trigger.BLOCKED, Landing(reason=Reason.CRASH_LOOP))
    assert (blocked.recoveries, blocked.attempts) == (3, 1)

    resumed = queue.move(blocked, Trigger.RESUMED, Landing(recoveries=5))

    assert (resumed.recoveries, resumed.attempts) == (0, 0)


def test_not_before_is_kept_only_in_the_queue(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    later = NOON + timedelta(hours=1)

    blocked = queue.move(
        running_task(inbox, queue), Trigger.BLOCKED, Landing(reason=Reason.GUARD, not_before=later)
    )

    assert blocked.not_before is None
    with pytest.raises(ValueError, match="time zone"):
        queue.move(blocked, Trigger.RESUMED, Landing(not_before=later.replace(tzinfo=None)))


def test_tasks_are_listed_newest_first(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    for number in (5, 3, 8):
        admit_task(inbox, queue, number)

    assert [task.issue.number for task in queue.tasks()] == [8, 3, 5]
    assert [task.issue.number for task in queue.tasks(limit=1)] == [8]


def test_history_tells_the_story(
    inbox: SqliteInbox, queue: SqliteTaskQueue, history: History, clock: SetClock
) -> None:
    task = running_task(inbox, queue)
    clock.forward(minutes=5)
    queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.GUARD, detail="test was weakened \ud800"))

    story = [(each.trigger, each.came_from, each.went_to, each.generation) for each in history.task_events(1)]

    assert story == [
        (Trigger.ADMITTED, None, State.QUEUED, 0),
        (Trigger.CLAIMED, State.QUEUED, State.RUNNING, 1),
        (Trigger.BLOCKED, State.RUNNING, State.BLOCKED, 1),
    ]
    last = history.task_events(1)[-1]
    assert (last.at, last.detail) == (NOON + timedelta(minutes=5), "test was weakened ?")


def test_claim_uses_the_partial_index(inbox: SqliteInbox, queue: SqliteTaskQueue, database: Database) -> None:
    with database.read() as connection:
        plan = connection.execute(
            "EXPLAIN QUERY PLAN SELECT id FROM tasks WHERE state = 'queued' AND not_before <= ?"
            " ORDER BY not_before, id LIMIT 1",
            ("2026",),
        ).fetchall()

    assert ["tasks_queued" in row["detail"] for row in plan] == [True]


def _force(database: Database, state: State) -> None:
    """Put the one task into any state, past the table."""
    lease = "2026-03-01T12:00:30.000000+00:00" if state is State.RUNNING else None
    with database.write() as connection:
        connection.execute("UPDATE tasks SET state = ?, lease_until = ?", (state, lease))


def test_a_task_is_found_by_its_issue(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    made = admit_task(inbox, queue, number=12)

    assert queue.task_of_issue(issue(12)) == made
    assert queue.task_of_issue(issue(13)) is None
    assert queue.task_of_issue(issue(12, repository_id="502")) is None


def test_live_tasks_come_by_id_and_in_pages(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    made = [admit_task(inbox, queue, number=number) for number in (1, 2, 3, 4)]
    queue.move(made[1], Trigger.CANCELLED)
    queue.move(made[2], Trigger.MERGED)

    assert [task.id for task in queue.live_tasks(0, 10)] == [made[0].id, made[3].id]
    assert [task.id for task in queue.live_tasks(0, 1)] == [made[0].id]
    assert [task.id for task in queue.live_tasks(made[0].id, 10)] == [made[3].id]


def test_a_task_knows_when_a_person_last_asked_for_it(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    task = admit_task(inbox, queue)
    first = queue.asked_at(task.id)
    clock.forward(hours=1)
    assert queue.claim(WORKER, LEASE) is not None
    assert queue.asked_at(task.id) == first
    task = queue.move(queue.task(task.id), Trigger.BLOCKED)
    clock.forward(hours=1)
    queue.move(task, Trigger.RESUMED)
    assert queue.asked_at(task.id) == clock.now() > first
    with pytest.raises(KeyError):
        queue.asked_at(99)
