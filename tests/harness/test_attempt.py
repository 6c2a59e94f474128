"""One attempt on real git and real test runs: its straight line, and each way it can end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from domain.claim import Restatement
from domain.errors import AgentFailure, FixwrightError, ProviderUnavailable, SandboxError, Stopped
from domain.model import Category, Limit, Money, Outcome, Reason, Usage
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from harness.agent.scripted import ScriptedAgent
from harness.handoff import PastAttempt
from tests.harness.agent.world import a_meter
from tests.harness.attempt_world import DISK, MEMORY, Workshop
from tests.worker.town import CALC, CLAIM, CLEAR, FIX, NOTES, SHOW, UNCLEAR, WRITE, WRONG_FIX, plays


class Watched(ScriptedAgent):
    """A scripted agent that keeps count of how it is used."""

    def __init__(
        self, *commands: str, error: Exception | None = None, said: Restatement | None = None
    ) -> None:
        super().__init__(commands, CLAIM, restatement=said)
        self.uses: list[str] = []
        self.briefs: list[Brief] = []
        self.error = error

    def prestart(self) -> None:
        self.uses.append("prestart")

    def close(self) -> None:
        self.uses.append("close")

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        self.uses.append("run")
        self.briefs.append(brief)
        report = super().run(brief, session, meter, observer)
        if self.error is not None:
            raise self.error
        return report


@pytest.fixture
def calc(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, CALC)


@pytest.fixture
def notes(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, NOTES)


def test_the_straight_line(calc: Workshop) -> None:
    agent = Watched(FIX, SHOW, said=CLEAR)

    result = calc.attempt(agent)

    assert result.outcome is Outcome.VERIFIED, result.detail
    assert result.verified is not None and result.verdict is result.verified.verdict
    assert result.start is not None and (result.start.sha, result.start.branch) == (calc.base, "")
    assert calc.journal.base == calc.base
    names = [name for name, _ in calc.journal.phases]
    assert names == ["prepare", "baseline", "localize", "agent", "check", "verify"]
    notes = dict(calc.journal.phases)
    assert notes["baseline"] == "1 passed, 0 failed" and notes["agent"] == "2 steps"
    assert "1 failing before and passing now" in notes["verify"]
    assert agent.uses == ["prestart", "run", "close"]
    assert (result.restatement, result.claim) == (CLEAR, CLAIM)
    assert calc.journal.verdicts == [result.verdict]
    assert calc.left_over() == []


@pytest.mark.long
def test_a_report_that_is_there_already_is_not_asked_for_again(calc: Workshop) -> None:
    calc.attempt(plays(FIX, SHOW))
    agent = Watched("touch never")

    result = calc.attempt(agent)

    assert result.outcome is Outcome.VERIFIED
    assert agent.uses == ["close"]
    assert "touch never" not in calc.stage.commands


@pytest.mark.long
def test_a_question_of_an_earlier_life_stands(calc: Workshop) -> None:
    calc.journal.restatement = UNCLEAR
    agent = Watched(FIX)

    result = calc.attempt(agent)

    assert (result.outcome, result.reason) == (Outcome.DECLINED, Reason.NEEDS_INFORMATION)
    assert result.restatement == UNCLEAR
    assert "run" not in agent.uses


def test_a_broken_environment_costs_nothing(tmp_path: Path) -> None:
    workshop = Workshop(
        tmp_path, {**CALC, "test_calc.py": "import unittest, gone\nclass TestIt(unittest.TestCase): 0\n"}
    )
    agent = Watched(FIX)

    result = workshop.attempt(agent)

    assert (result.outcome, result.reason) == (Outcome.UNJUDGED, Reason.ENVIRONMENT)
    assert "gone" in result.detail
    assert "run" not in agent.uses and workshop.left_over() == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "outcome", "reason", "keeps"),
    [
        (Stopped("asked"), Outcome.INTERRUPTED, None, False),
        (ProviderUnavailable("503"), Outcome.TRANSIENT, None, True),
        (AgentFailure("exit 1"), Outcome.DECLINED, Reason.ENVIRONMENT, True),
        (SandboxError("torn"), Outcome.DECLINED, Reason.SANDBOX, False),
    ],
)
def test_a_failure_becomes_an_outcome_and_paid_work_is_kept(
    notes: Workshop, error: FixwrightError, outcome: Outcome, reason: Reason | None, keeps: bool
) -> None:
    agent = Watched(WRITE, error=error)

    result = notes.attempt(agent, notes.order(category=Category.DOCS))

    assert (result.outcome, result.reason, result.detail) == (outcome, reason, str(error))
    assert (result.wip is not None) is keeps
    assert result.verified is None
    assert agent.uses[-1] == "close" and notes.left_over() == []


@pytest.mark.long
@pytest.mark.parametrize("phase", ["prepare", "baseline", "localize", "agent", "check", "verify"])
def test_a_stop_before_any_phase(notes: Workshop, phase: str) -> None:
    notes.journal.stop_in = phase

    result = notes.attempt(plays(WRITE), notes.order(category=Category.DOCS))

    assert result.outcome is Outcome.INTERRUPTED
    assert notes.left_over() == []


def earlier(workshop: Workshop, outcome: Outcome, *commands: str) -> PastAttempt:
    """Make an attempt and return it as the past of the next one, ended as said."""
    result = workshop.attempt(plays(*commands))
    past = PastAttempt(
        number=1,
        outcome=outcome,
        claim=result.claim,
        verdict=result.verdict,
        tree=result.verdict.tree if result.verdict else "",
        start_sha=workshop.base,
    )
    workshop.journal.claim = None
    workshop.journal.steps.clear()
    return past


@pytest.mark.long
def test_unverified_work_is_gone_on_with_and_merged_onto_what_others_pushed(calc: Workshop) -> None:
    past = earlier(calc, Outcome.UNVERIFIED, WRONG_FIX)
    agent = Watched("true")
    calc.attempt(agent, calc.order(past=(past,)))
    assert "already contains that work" in agent.briefs[0].hand_off

    calc.journal.claim = None
    calc.journal.steps.clear()
    calc.world.commit({"NEW": "upstream\n"})
    agent = Watched("test -e NEW && cat calc.py")
    calc.attempt(agent, calc.order(past=(past,)))

    assert "already contains that work" in agent.briefs[0].hand_off
    assert "x + 5" in str(calc.journal.steps[0])


@pytest.mark.long
def test_unverified_work_that_conflicts_with_what_others_pushed_is_shown_and_not_carried(
    calc: Workshop,
) -> None:
    past = earlier(calc, Outcome.UNVERIFIED, WRONG_FIX)
    calc.world.commit({"calc.py": "def double(x):\n    return x + 3\n"})
    agent = Watched("cat calc.py")

    calc.attempt(agent, calc.order(past=(past,)))

    told = agent.briefs[0].hand_off
    assert "clean again" in told and "conflicts with it in: `calc.py`" in told and "+    return x + 5" in told
    assert "x + 3" in str(calc.journal.steps[0])


@pytest.mark.long
def test_verified_work_that_was_not_taken_is_handed_in_as_it_is(calc: Workshop) -> None:
    past = earlier(calc, Outcome.DECLINED, FIX, SHOW)
    assert past.verdict is not None and past.verdict.verified
    agent = Watched("touch never")

    result = calc.attempt(agent, calc.order(past=(past,)))

    assert result.outcome is Outcome.VERIFIED and result.claim == CLAIM
    assert "run" not in agent.uses


@pytest.mark.long
@pytest.mark.parametrize(
    ("outcome", "again"),
    [
        (Outcome.VERIFIED, True),
        (Outcome.CANCELLED, False),
    ],
)
def test_only_what_was_judged_can_be_repeated(calc: Workshop, outcome: Outcome, again: bool) -> None:
    past = replace(earlier(calc, outcome, FIX, SHOW), start_sha="")

    result = calc.attempt(plays(FIX, SHOW), calc.order(past=(past,)))

    assert (result.outcome is Outcome.REPEATED) is again


@pytest.mark.long
@pytest.mark.parametrize(("outcome", "again"), [(Outcome.UNVERIFIED, True), (Outcome.VERIFIED, False)])
def test_a_rejected_change_is_known_again_on_another_base(
    calc: Workshop, outcome: Outcome, again: bool
) -> None:
    past = replace(earlier(calc, outcome, WRONG_FIX), start_sha="")
    calc.world.commit({"NEW": "upstream\n"})

    result = calc.attempt(plays(WRONG_FIX), calc.order(past=(past, replace(past, number=2, tree=""))))

    assert (result.outcome is Outcome.REPEATED) is again


@pytest.mark.long
def test_what_is_left_out_of_the_change_is_named(notes: Workshop) -> None:
    result = notes.attempt(
        plays(WRITE, "mkdir -p .venv/bin && touch .venv/bin/python x.orig"),
        notes.order(category=Category.DOCS),
    )

    assert result.outcome is Outcome.VERIFIED
    assert any(".venv" in path for path in result.left_out)


@pytest.mark.long
def test_a_stopped_agent_s_change_that_breaks_a_rule_is_not_kept(notes: Workshop) -> None:
    write = "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml"

    result = notes.attempt(plays(write, claim=None), notes.order(category=Category.DOCS))

    assert result.outcome is Outcome.TASK_LIMIT
    assert result.wip is None


@pytest.mark.long
def test_every_run_has_the_memory_and_the_disk_that_the_operator_gives(calc: Workshop) -> None:
    assert calc.attempt(plays(FIX, SHOW)).outcome is Outcome.VERIFIED

    assert len(calc.stage.policies) > 2
    assert {(policy.memory_bytes, policy.disk_bytes) for policy in calc.stage.policies} == {(MEMORY, DISK)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "limit"),
    [("max_iterations: 1", Limit.ITERATIONS), ("max_cost_per_task_usd: 0.006", Limit.TASK_COST)],
)
def test_a_cap_of_the_repository_s_own_is_in_force(tmp_path: Path, line: str, limit: Limit) -> None:
    workshop = Workshop(tmp_path, {**CALC, ".fixwright.yml": f"{line}\n"})

    result = workshop.attempt(
        ScriptedAgent([FIX, SHOW], CLAIM, usage=Usage(input_tokens=4500, output_tokens=100))
    )

    assert (result.outcome, result.reason) == (Outcome.TASK_LIMIT, Reason.TASK_LIMIT)
    assert limit in result.detail
    assert len(workshop.journal.steps) == 1


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"max_daily_cost_usd": Money(0)}, Outcome.DAILY_LIMIT),
        ({"max_daily_cost_usd": Money("0.005")}, Outcome.DAILY_LIMIT),
        ({"max_daily_cost_total_usd": Money(0)}, Outcome.DAILY_LIMIT),
        ({"max_cost_per_task_usd": Money(0)}, Outcome.TASK_LIMIT),
        ({"max_iterations": 0}, Outcome.TASK_LIMIT),
    ],
)
def test_without_a_budget_not_even_the_baseline_is_run(
    calc: Workshop, changes: dict[str, object], outcome: Outcome
) -> None:
    agent = Watched(FIX, SHOW)

    result = calc.attempt(agent, meter=a_meter(**changes))

    assert result.outcome is outcome
    assert calc.stage.commands == [] and calc.journal.phases == []
    assert agent.uses == ["close"]


@pytest.mark.long
def test_what_needs_no_money_any_more_is_finished_without_a_budget(calc: Workshop) -> None:
    calc.attempt(plays(FIX, SHOW))

    result = calc.attempt(Watched("touch never"), meter=a_meter(max_daily_cost_usd=Money(0)))

    assert result.outcome is Outcome.VERIFIED
