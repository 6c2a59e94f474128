"""The lease is kept while an attempt runs; who has lost it changes nothing any more."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from domain.errors import StaleWrite, StoreUnavailable
from domain.model import Outcome, Task
from domain.states import State, Trigger
from providers.local.forge import LocalForge
from tests.worker.town import WRITE, Stage, Town, plays
from worker.halt import Halt
from worker.signals import SignalDesk
from worker.supervisor import Rhythm, Supervisor

QUICK = Rhythm(lease_seconds=0.06, beat_seconds=0.01)


class Watched:
    """The queue, with an ear for heartbeats; it fails as often as it is told."""

    def __init__(self, town: Town, failures: int = 0) -> None:
        self.queue, self.failures = town.queue, failures
        self.renewed = threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self.queue, name)

    def heartbeat(self, task: Task, lease_seconds: float) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("locked")
        self.queue.heartbeat(task, 60)
        self.renewed.set()


def supervised(town: Town, task: Task, watched: Watched, halt: Halt) -> Supervisor:
    desk = SignalDesk(town.queue, {"local": LocalForge(town.root / "forge")}, town.serving)
    return Supervisor(task, queue=watched, desk=desk, halt=halt, rhythm=QUICK)  # type: ignore[arg-type]


def claimed(town: Town) -> Task:
    town.issue("docs")
    task = town.queue.claim("worker/one", 60)
    assert task is not None
    return task


@pytest.mark.parametrize("failures", [0, 3])
def test_a_lease_is_kept_also_through_a_store_that_is_away_for_a_moment(notes: Town, failures: int) -> None:
    task, watched, halt = claimed(notes), Watched(notes, failures), Halt()
    notes.clock.forward(seconds=50)

    with supervised(notes, task, watched, halt):
        assert watched.renewed.wait(30)

    notes.clock.forward(seconds=50)
    assert notes.queue.orphans("other/life") == []
    assert halt.outcome is None


def test_a_task_that_somebody_else_has_now_is_let_go(notes: Town) -> None:
    task, halt, told = claimed(notes), Halt(), threading.Event()
    halt.on_ask(told.set)
    notes.queue.move(task, Trigger.RELEASED)
    again = notes.queue.claim("other/life", 60)

    with supervised(notes, task, Watched(notes), halt):
        assert told.wait(30)

    assert halt.outcome is Outcome.CANCELLED
    assert again is not None and notes.task.generation == again.generation


def test_renewals_come_three_times_within_a_lease() -> None:
    assert Rhythm(lease_seconds=60).beats_to_renewal == 20
    assert Rhythm(lease_seconds=1).beats_to_renewal == 1


@pytest.mark.long
def test_a_late_writer_changes_nothing(notes: Town) -> None:
    """No supervisor's beat comes: the fence alone keeps the late worker out."""
    issue = notes.issue("docs")

    def taken_over() -> None:
        notes.clock.forward(seconds=3600)
        other = notes.loop(plays("true theirs", WRITE), life="other")
        other.turn()
        assert notes.stands == (State.IN_REVIEW, None)
        seen.append((notes.task, notes.attempts, notes.transcript(), notes.text(issue), notes.branches))

    seen: list[object] = []
    stage = Stage({"true late": taken_over})
    notes.loop(plays("true first", "true late", "touch late.md"), sandbox=stage).turn()

    assert "touch late.md" not in stage.commands
    assert seen == [(notes.task, notes.attempts, notes.transcript(), notes.text(issue), notes.branches)]


@pytest.mark.long
def test_a_late_worker_that_only_has_to_publish_publishes_nothing(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    queue = loop.shop.queue

    class Late:
        def __getattr__(self, name: str) -> object:
            return getattr(queue, name)

        def intend(self, *arguments: object, **named: object) -> object:
            notes.clock.forward(seconds=3600)
            (orphan,) = queue.orphans("other/life")
            queue.move(orphan, Trigger.RELEASED)
            return queue.intend(*arguments, **named)  # type: ignore[arg-type]  # passed on

    notes.loop(plays(WRITE), queue=Late()).turn()  # type: ignore[arg-type]

    assert notes.stands == (State.QUEUED, None)
    assert not notes.branches and not notes.world.pulls(notes.repository.id)
    task = notes.queue.claim("other/life", 60)
    assert task is not None
    attempt = notes.queue.begin_attempt(task)
    with pytest.raises(StaleWrite):
        notes.queue.note_progress(replace(attempt, generation=attempt.generation - 1), steps=9)
