"""Attempts: begun once, taken up after a crash, fenced against whoever lost the task."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.claim import Claim, Restatement
from domain.errors import StaleWrite
from domain.model import (
    Attempt,
    Finding,
    Money,
    Outcome,
    Phase,
    Reason,
    RunStatus,
    Severity,
    Task,
    TestRun,
    Verdict,
)
from domain.ports import Landing
from domain.states import State, Trigger
from store.attempts import UNCOUNTED
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import LEASE, NOON, SetClock, running_task

VERDICT = Verdict(
    verified=True,
    summary="red on the base, green with the fix \U0001f600",
    base_sha="b" * 40,
    tree="t" * 40,
    runs=(
        TestRun(
            name="suite",
            command="pytest -q",
            tree="t" * 40,
            status=RunStatus.PASSED,
            exit_code=0,
            seconds=1.25,
            passed=2,
            failed=None,
            passed_ids=frozenset({"tests/test_a.py::test_ä[1-\x00]", "b"}),
            tail="2 passed",
        ),
    ),
    findings=(
        Finding(rule="RH-7", path="a.py", line=3, what="skip", why="hides", severity=Severity.WARNING),
    ),
    turned_green=("b",),
    broken=(),
    isolation="bubblewrap",
)

PHASE = Phase(name="agent", started_at=NOON, seconds=1.5, cost=Money("0.5"))


def test_attempts_are_numbered_and_closed(
    inbox: SqliteInbox, queue: SqliteTaskQueue, clock: SetClock
) -> None:
    task = running_task(inbox, queue)
    first = queue.begin_attempt(task)
    assert (first.number, first.task_id, first.started_at, first.outcome) == (1, task.id, NOON, None)
    clock.forward(minutes=1)

    closed = queue.end_attempt(first, Outcome.UNVERIFIED)

    assert (closed.outcome, closed.ended_at) == (Outcome.UNVERIFIED, NOON + timedelta(minutes=1))
    second = queue.begin_attempt(task)
    assert second.number == 2
    assert queue.attempts(task.id) == [closed, second]


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_counts_against_max_attempts(
    inbox: SqliteInbox, queue: SqliteTaskQueue, outcome: Outcome
) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)

    assert queue.end_attempt(attempt, outcome) == queue.end_attempt(attempt, outcome)

    uncounted = outcome in {Outcome.INTERRUPTED, Outcome.ORPHANED, Outcome.TRANSIENT, Outcome.UNJUDGED}
    assert queue.task(task.id).attempts == (0 if uncounted else 1)
    assert (outcome in UNCOUNTED) is uncounted


def test_closed_attempt_does_not_change_its_outcome(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)
    queue.end_attempt(attempt, Outcome.NO_CHANGE)

    with pytest.raises(StaleWrite):
        queue.end_attempt(attempt, Outcome.VERIFIED)
    with pytest.raises(StaleWrite):
        queue.note_progress(attempt, steps=4)

    assert queue.attempts(task.id)[0].outcome is Outcome.NO_CHANGE
    assert queue.task(task.id).attempts == 1


def test_open_attempt_is_taken_up_by_the_next_claim(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    attempt = queue.note_progress(queue.begin_attempt(task), base_sha="b1", checkpoint_sha="k1", steps=3)

    taken_up = queue.begin_attempt(_crash_and_claim(queue, task))

    assert (taken_up.id, taken_up.number, taken_up.outcome) == (attempt.id, 1, None)
    assert (taken_up.base_sha, taken_up.checkpoint_sha, taken_up.steps) == ("b1", "k1", 3)


def test_loser_of_a_task_cannot_touch_the_attempt_of_its_successor(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    lost = queue.begin_attempt(task)
    current = queue.begin_attempt(_crash_and_claim(queue, task))
    queue.save_report(current, restatement=None, claim=None)

    with pytest.raises(StaleWrite):
        queue.begin_attempt(task)
    with pytest.raises(StaleWrite):
        queue.note_progress(lost, steps=9)
    with pytest.raises(StaleWrite):
        queue.end_attempt(lost, Outcome.VERIFIED)
    with pytest.raises(StaleWrite):
        queue.save_verdict(lost, VERDICT)
    with pytest.raises(StaleWrite):
        queue.save_report(lost, restatement=None, claim=None)
    with pytest.raises(StaleWrite):
        queue.add_phase(lost, PHASE)

    assert queue.phases(task.id) == []
    assert queue.attempts(task.id) == [current]
    assert queue.verdict(current) is None


def test_attempt_begins_only_for_a_running_task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    queue.move(task, Trigger.CANCELLED)

    with pytest.raises(StaleWrite):
        queue.begin_attempt(task)

    assert queue.attempts(task.id) == []


@pytest.mark.parametrize(
    ("out", "back", "ended"),
    [
        (Trigger.BLOCKED, Trigger.RESUMED, Outcome.INTERRUPTED),
        (Trigger.CANCELLED, Trigger.RELABELLED, Outcome.CANCELLED),
    ],
)
def test_resumed_task_begins_a_new_attempt(
    inbox: SqliteInbox, queue: SqliteTaskQueue, out: Trigger, back: Trigger, ended: Outcome
) -> None:
    task = running_task(inbox, queue)
    queue.begin_attempt(task)
    resumed = queue.move(queue.move(task, out, Landing(reason=Reason.CRASH_LOOP)), back)

    attempt = queue.begin_attempt(_claim(queue))

    assert resumed.attempts == 0
    assert attempt.number == 2
    assert [each.outcome for each in queue.attempts(task.id)] == [ended, None]


@pytest.mark.parametrize("trigger", [Trigger.CANCELLED, Trigger.MERGED])
def test_a_task_that_is_over_leaves_no_attempt_open(
    inbox: SqliteInbox, queue: SqliteTaskQueue, trigger: Trigger
) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)

    queue.move(task, trigger)

    assert [each.outcome for each in queue.attempts(task.id)] == [Outcome.CANCELLED]
    for late in (
        lambda: queue.note_progress(attempt, steps=1),
        lambda: queue.save_report(attempt, restatement=None, claim=None),
        lambda: queue.save_verdict(attempt, VERDICT),
    ):
        with pytest.raises(StaleWrite):
            late()


def test_the_last_stretch_of_a_cancelled_attempt_is_kept_until_the_task_is_claimed_anew(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)
    cancelled = queue.move(task, Trigger.CANCELLED)

    queue.add_phase(attempt, PHASE)
    queue.move(cancelled, Trigger.RELABELLED)
    assert queue.claim("worker-1/aaaa", LEASE) is not None
    with pytest.raises(StaleWrite):
        queue.add_phase(attempt, PHASE)

    assert queue.phases(task.id) == [(1, PHASE)]


def test_a_move_and_the_end_of_its_attempt_are_one(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)

    moved = queue.move(task, Trigger.RETRIED, Landing(ending=(attempt, Outcome.UNVERIFIED)))

    assert moved.attempts == queue.task(task.id).attempts == 1
    assert [each.outcome for each in queue.attempts(task.id)] == [Outcome.UNVERIFIED]


def test_a_move_whose_attempt_is_another_s_is_not_made(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    attempt = queue.begin_attempt(task)

    with pytest.raises(StaleWrite):
        queue.move(
            task,
            Trigger.RETRIED,
            Landing(ending=(replace(attempt, generation=attempt.generation - 1), Outcome.REFUSED)),
        )

    assert queue.task(task.id).state is State.RUNNING


def test_progress_keeps_what_is_not_given_and_never_goes_back(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    attempt = queue.begin_attempt(running_task(inbox, queue))
    queue.note_progress(attempt, base_sha="b1", steps=5)

    after = queue.note_progress(attempt, checkpoint_sha="k1", steps=4)

    assert (after.base_sha, after.checkpoint_sha, after.steps) == ("b1", "k1", 5)


def test_timeline_keeps_order_money_and_attempt(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    first = queue.begin_attempt(task)
    phases = [
        Phase(name="prepare", started_at=NOON, seconds=0.125, cost=Money(0)),
        Phase(name="agent", started_at=NOON, seconds=61, cost=Money("0.123456789"), note="4 steps"),
    ]
    for phase in phases:
        queue.add_phase(first, phase)
    queue.end_attempt(first, Outcome.UNVERIFIED)
    queue.add_phase(queue.begin_attempt(task), phases[0])

    assert queue.phases(task.id) == [(1, phases[0]), (1, phases[1]), (2, phases[0])]


def test_model_words_are_kept_apart_and_none_erases_nothing(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    attempt = queue.begin_attempt(running_task(inbox, queue))
    restatement = Restatement(expected="light", actual="dark", confidence=0.5, questions=["Which lamp?"])
    claim = Claim(root_cause="no bulb", changes="added a bulb", test_commands=["pytest"])
    assert queue.report(attempt) == (None, None)

    queue.save_report(attempt, restatement=restatement, claim=None)
    queue.save_report(attempt, restatement=None, claim=claim)

    assert queue.report(attempt) == (restatement, claim)
    assert queue.verdict(attempt) is None


def test_verdict_survives_the_round_trip(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    attempt = queue.begin_attempt(running_task(inbox, queue))

    queue.save_verdict(attempt, VERDICT)

    assert queue.verdict(attempt) == VERDICT
    assert queue.report(attempt) == (None, None)


def test_verdict_with_half_a_surrogate_pair_is_stored(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    attempt = queue.begin_attempt(running_task(inbox, queue))

    queue.save_verdict(attempt, _with_summary("odd \udcff output"))

    assert queue.verdict(attempt) == _with_summary("odd ? output")


def test_unknown_attempt(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    ghost = Attempt(id=9, task_id=9, number=1, started_at=NOON)

    with pytest.raises(KeyError):
        queue.verdict(ghost)
    with pytest.raises(KeyError):
        queue.report(ghost)
    with pytest.raises(StaleWrite):
        queue.end_attempt(ghost, Outcome.VERIFIED)


def _with_summary(summary: str) -> Verdict:
    return Verdict(
        verified=False,
        summary=summary,
        base_sha="",
        tree="",
        runs=(),
        findings=(),
        turned_green=(),
        broken=(),
        isolation="",
    )


def _claim(queue: SqliteTaskQueue) -> Task:
    task = queue.claim("worker-1/bbbb", LEASE)
    assert task is not None
    return task


def _crash_and_claim(queue: SqliteTaskQueue, task: Task) -> Task:
    assert queue.orphans("worker-1/bbbb") == [task]
    queue.move(task, Trigger.RELEASED, Landing(recoveries=1))
    return _claim(queue)
