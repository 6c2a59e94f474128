"""The one suite for every Agent: with a model behind an endpoint, and without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.demo.scripted_model import Script, ScriptedModel, Turn, bash, restate, submit
from domain.claim import Claim, Restatement
from domain.errors import SandboxError, Stopped
from domain.model import CommandResult, Limit
from domain.ports import Agent
from harness.agent.scripted import ScriptedAgent
from tests.harness.agent.conftest import model_settings
from tests.harness.agent.inline import InlineAgent
from tests.harness.agent.world import CLAIM, MemoryLedger, ShellSession, Watcher, a_brief, a_meter

Build = Callable[[list[str], Claim | None, Restatement | None], Agent]
CLEAR = Restatement(expected="four", actual="zero", confidence=0.9)
UNCLEAR = Restatement(expected="?", actual="?", confidence=0.1, questions=["Which one?"])


@pytest.fixture(params=["model", "scripted"])
def build(request: pytest.FixtureRequest, endpoint: ScriptedModel) -> Iterator[Build]:
    def with_model(commands: list[str], claim: Claim | None, said: Restatement | None) -> Agent:
        turns = [bash(command) for command in commands]
        if claim is not None:
            turns.append(submit(**claim.model_dump()))
        restatement = (restate(**said.model_dump()),) if said else ()
        endpoint.set_script("scripted", Script(restatement=restatement, turns=tuple(turns)))
        return InlineAgent(model_settings(endpoint))

    def without(commands: list[str], claim: Claim | None, said: Restatement | None) -> Agent:
        return ScriptedAgent(commands, claim, restatement=said)

    yield with_model if request.param == "model" else without


@pytest.mark.long
def test_it_sums_up_in_one_call_and_does_nothing_else(endpoint: ScriptedModel, session: ShellSession) -> None:
    seen: list[str] = []

    def answer(request: dict[str, object]) -> Turn:
        seen.append(str(request))
        return Turn(text="The rounding is left to do.\x07")

    endpoint.set_script("scripted", Script(turns=(answer,)))
    brief = a_brief(sum_up="ran: pytest -q\n--- end account", resume_messages=({"role": "user"},))
    for agent in (
        InlineAgent(model_settings(endpoint)),
        ScriptedAgent(["touch never"], CLAIM, summary="The rounding is left to do."),
    ):
        ledger, watcher = MemoryLedger(), Watcher()
        report = agent.run(brief, session, a_meter(ledger), watcher)
        assert (report.summary, report.claim) == ("The rounding is left to do.", None)
        assert len(ledger.booked) == 1 and not watcher.records and not session.commands
    assert len(seen) == 1 and "ran: pytest -q" in seen[0] and "'tools'" not in seen[0]


def test_without_room_for_the_call_there_is_no_summary(
    endpoint: ScriptedModel, session: ShellSession
) -> None:
    endpoint.set_script("scripted", Script(turns=(Turn(text="never"),)))
    for agent in (InlineAgent(model_settings(endpoint)), ScriptedAgent([], CLAIM, summary="never")):
        report = agent.run(a_brief(sum_up="x"), session, a_meter(max_iterations=0), Watcher())
        assert (report.summary, report.stopped_by) == ("", Limit.ITERATIONS)


def test_it_works_and_reports(build: Build, session: ShellSession) -> None:
    ledger, watcher = MemoryLedger(), Watcher()
    agent = build(["echo a > new", "cat new"], CLAIM, CLEAR)
    report = agent.run(a_brief(skip_restatement=False), session, a_meter(ledger), watcher)
    assert (report.claim, report.restatement, report.stopped_by) == (CLAIM, CLEAR, None)
    assert watcher.restatements == [CLEAR]
    assert session.commands == ["echo a > new", "cat new"]
    assert watcher.steps == sorted(set(watcher.steps))
    assert report.steps == watcher.steps[-1]
    assert ledger.spent_on_attempt(5) > 0
    assert not ledger.open


def test_it_asks_before_it_guesses(build: Build, session: ShellSession) -> None:
    agent = build(["touch no"], CLAIM, UNCLEAR)
    report = agent.run(a_brief(skip_restatement=False), session, a_meter(), Watcher())
    assert (report.restatement, report.claim, session.commands) == (UNCLEAR, None, [])


def test_it_stops_at_a_limit_and_says_which(build: Build, session: ShellSession) -> None:
    agent = build([f"echo {n}" for n in range(9)], CLAIM, None)
    report = agent.run(a_brief(), session, a_meter(max_iterations=4), Watcher())
    assert (report.stopped_by, report.claim, report.steps) == (Limit.ITERATIONS, None, 4)
    assert len(session.commands) == 4
    assert "max_iterations" in report.stop_detail


def test_it_ends_when_asked_to(build: Build, session: ShellSession) -> None:
    agent = build([f"echo {n}" for n in range(9)], CLAIM, None)
    with pytest.raises(Stopped):
        agent.run(a_brief(), session, a_meter(), Watcher(lambda watcher: len(watcher.steps) == 2))
    assert len(session.commands) == 2


def test_a_sandbox_that_breaks_is_not_the_agents_to_mend(build: Build, session: ShellSession) -> None:
    class Broken(ShellSession):
        def run(self, command: str, deadline_seconds: float) -> CommandResult:
            raise SandboxError("no namespaces here")

    with pytest.raises(SandboxError):
        build(["ls"], CLAIM, None).run(a_brief(), Broken(session.directory), a_meter(), Watcher())
