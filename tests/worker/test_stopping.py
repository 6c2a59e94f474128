"""A stop in the middle (SIGTERM) costs nothing: the attempt goes on at the next start from its last step."""

from __future__ import annotations

import pytest

from domain.budget import ZERO
from domain.errors import SandboxError
from domain.model import Outcome, Reason
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from domain.states import State
from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, FIX, NOTES, SHOW, WRITE, Stage, Town, plays
from worker.halt import Halt
from worker.loop import Loop


def stopped_at(town: Town, cue: str, *commands: str) -> Loop:
    """Run a worker that is told to stop when a command with this text begins."""
    stage = Stage()
    loop = town.loop(plays(*commands), sandbox=stage)
    stage.cues[cue] = loop.stop
    assert loop.turn()
    return loop


def test_during_the_agent_s_work(notes: Town) -> None:
    issue = notes.issue("docs")

    stopped_at(notes, "sleep 600", WRITE, "sleep 600", "true third")

    assert notes.stands == (State.QUEUED, None)
    assert notes.outcomes == [None] and notes.task.recoveries == 0
    assert "goes on from its last step" in notes.text(issue)
    spent = notes.ledger.spent_on_task(notes.task.id)
    stage = Stage()
    notes.loop(plays(WRITE, "true second", "true third"), sandbox=stage, life="two").turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.outcomes == [Outcome.VERIFIED]
    assert [command for command in stage.commands if "README" in command] == []
    assert len(notes.cast.briefs[0].resume_messages) == 1 and notes.cast.briefs[0].skip_restatement
    assert notes.ledger.spent_on_task(notes.task.id) == spent * 2
    branch = next(iter(notes.branches))
    assert b"no tests yet" in notes.world.git.read_file(notes.repository.id, branch, "README.md")


@pytest.mark.long
def test_the_time_of_the_agent_is_counted_over_all_lives(notes: Town) -> None:
    notes.issue("docs")
    stage = Stage()
    loop = notes.loop(plays(WRITE, "true tick", "true tock", "true stop", "true last"), sandbox=stage)
    for cue in ("true tick", "true tock"):
        stage.cues[cue] = lambda: notes.clock.forward(seconds=30)
    stage.cues["true stop"] = loop.stop
    loop.turn()
    notes.clock.forward(seconds=3600)

    again = notes.loop(plays(WRITE, "true tick", "true tock", "true stop", "true last"), life="two")
    again.turn()

    assert notes.cast.briefs[0].seconds_used == 60.0


@pytest.mark.long
def test_during_the_baseline(calc: Town) -> None:
    calc.issue()

    stopped_at(calc, "discover", FIX, SHOW)

    assert calc.stands == (State.QUEUED, None)
    assert calc.ledger.spent_on_task(calc.task.id) == ZERO
    calc.loop(plays(FIX, SHOW), life="two").turn()
    assert calc.stands == (State.IN_REVIEW, None)
    assert calc.outcomes == [Outcome.VERIFIED]


@pytest.mark.long
def test_during_verification_the_agent_s_report_is_kept(calc: Town) -> None:
    calc.issue()
    stage = Stage()
    loop = calc.loop(plays(FIX, SHOW), sandbox=stage)

    def at_the_second_run() -> None:
        stage.cues["discover"] = loop.stop

    stage.cues["discover"] = at_the_second_run
    loop.turn()

    assert calc.stands == (State.QUEUED, None)
    spent = calc.ledger.spent_on_task(calc.task.id)
    calc.loop(plays("the agent is not asked again"), life="two").turn()

    assert calc.stands == (State.IN_REVIEW, None)
    assert calc.cast.briefs == []
    assert calc.ledger.spent_on_task(calc.task.id) == spent
    assert calc.outcomes == [Outcome.VERIFIED]


def test_before_anything_began(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    loop.stop()

    loop.turn()

    assert notes.stands == (State.QUEUED, None)
    assert notes.cast.briefs == []


@pytest.mark.long
def test_a_worker_that_hangs_gives_its_task_back_uncounted(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE, "true hangs"))
    stage = loop.shop.bench.sandbox
    seen = []

    def given_back() -> None:
        loop.abandon()
        seen.append((notes.stands, notes.outcomes, notes.task.recoveries))

    stage.cues["true hangs"] = given_back  # type: ignore[attr-defined]  # a Stage
    loop.turn()

    assert seen == [((State.QUEUED, None), [None], 0)]
    assert notes.stands == (State.QUEUED, None)
    loop.abandon()
    notes.loop(plays(WRITE, "true hangs"), life="two").turn()
    assert notes.outcomes == [Outcome.VERIFIED] and notes.task.recoveries == 0


@pytest.mark.long
@pytest.mark.parametrize("again", [1, 3])
def test_stopping_again_and_again_uses_nothing_up(build: BuildTown, again: int) -> None:
    town = build(NOTES)
    town.issue("docs")
    for _ in range(again):
        stopped_at(town, "sleep 600", WRITE, "sleep 600")

    town.loop(plays(WRITE, "true"), life="last").turn()

    assert town.outcomes == [Outcome.VERIFIED]
    assert town.task.attempts == 1


@pytest.mark.long
def test_what_a_stop_breaks_is_not_blamed_on_the_sandbox(build: BuildTown) -> None:
    town = build(CALC)
    town.issue()
    loop = town.loop()

    class Torn:
        """An agent whose session is torn down under it."""

        def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
            loop.stop()
            raise SandboxError("the session is closed")

    town.cast.agents = (Torn(),)  # type: ignore[assignment]  # prestart and close are the cast's
    loop.turn()

    assert town.stands == (State.QUEUED, None)


def test_the_first_reason_to_stop_stands_and_late_listeners_hear_it() -> None:
    halt, heard = Halt(), []
    halt.on_ask(lambda: heard.append("early"))
    halt.ask(Outcome.INTERRUPTED)
    halt.ask(Outcome.CANCELLED)
    halt.on_ask(lambda: heard.append("late"))

    assert halt.outcome is Outcome.INTERRUPTED
    assert heard == ["early", "late"]


def test_a_signal_handler_may_ask_in_the_middle_of_anything() -> None:
    """The handler runs in the thread that may be holding the lock; with a plain lock this never ends."""
    halt, heard = Halt(), []

    class Listeners(list[object]):
        def append(self, listener: object) -> None:
            super().append(listener)
            halt.ask(Outcome.INTERRUPTED)

    halt._listeners = Listeners()  # type: ignore[assignment]
    halt.on_ask(lambda: heard.append("told"))

    assert heard and halt.outcome is Outcome.INTERRUPTED


@pytest.mark.long
def test_a_worker_whose_lease_was_lost_says_nothing_more(notes: Town) -> None:
    issue = notes.issue("docs")

    def lose() -> None:
        notes.clock.forward(seconds=3600)
        other = notes.loop(plays(WRITE), life="other")
        other.turn()
        other.turn()

    stage = Stage({"sleep 600": lose})
    late = notes.loop(plays("sleep 600", "touch late"), sandbox=stage, beat_seconds=0.01)
    late.turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.task.reason is not Reason.WITHDRAWN
    assert len(notes.world.pulls(notes.repository.id)) == 1
    assert len(notes.said(issue)) == 2
