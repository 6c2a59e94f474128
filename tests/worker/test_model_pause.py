"""A key that the model's provider refuses: one notice, no task blocked for it, and work goes on by itself."""

from __future__ import annotations

import pytest

from domain.errors import ModelRefused
from domain.model import Outcome
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from domain.states import State
from tests.store.makers import SetClock
from tests.worker.town import WRITE, Town, plays
from worker.model_pause import FIRST_SECONDS, LONGEST_SECONDS, ModelPause

SAID = "the model's provider refuses the key (401): sk-secret of org-42"


class Refused:
    """An agent whose provider refuses the key."""

    def prestart(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        raise ModelRefused(SAID)


def test_no_task_is_blocked_and_no_second_one_is_tried(notes: Town) -> None:
    first, second = notes.issue("docs", title="one"), notes.issue("docs", title="two", body="Other.")
    loop = notes.loop(Refused())
    loop.turn()
    assert not loop.turn(), "nothing is claimed while it pauses"
    two, one = notes.queue.tasks()
    assert (one.state, two.state) == (State.QUEUED, State.QUEUED)
    assert one.recoveries == one.attempts == 0 and not notes.queue.attempts(two.id)
    said = notes.text(first)
    assert "refuses this service" in said and "sk-secret" not in said and "org-42" not in said
    waiting = notes.text(second)
    assert "refuses" not in waiting and (not waiting or "2nd of 2 in the queue" in waiting)


@pytest.mark.long
def test_the_work_goes_on_when_the_key_works(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(Refused(), plays(WRITE))
    loop.turn()
    notes.clock.forward(seconds=FIRST_SECONDS + 1)
    assert loop.turn()
    assert notes.stands == (State.IN_REVIEW, None), notes.text(issue)
    assert notes.outcomes == [Outcome.VERIFIED], "the same attempt goes on"
    assert loop.shop.pause is not None and not loop.shop.pause.seconds_left


def test_the_loop_waits_for_as_long_as_it_pauses(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(Refused())
    loop.turn()
    assert loop._patience() == loop.poll_seconds


def test_it_pauses_for_longer_each_time_and_begins_anew_when_it_works() -> None:
    clock = SetClock()
    pause = ModelPause(clock)
    assert pause.seconds_left == 0
    seen = []
    for _ in range(6):
        pause.refused(SAID)
        seen.append(pause.seconds_left)
    assert seen == [60, 120, 240, 480, LONGEST_SECONDS, LONGEST_SECONDS]
    pause.worked()
    assert pause.seconds_left == 0
    pause.refused(SAID)
    assert pause.seconds_left == FIRST_SECONDS
