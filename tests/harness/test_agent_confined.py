"""The command policy stands around the agent's session alone: the harness' own test runs never meet it."""

from __future__ import annotations

from pathlib import Path

from domain.model import Outcome
from domain.ports import SandboxSession
from harness.agent.command_policy import CommandPolicy
from harness.agent.confined_session import ConfinedSession
from harness.agent.scripted import ScriptedAgent
from harness.workspace import Workspace
from tests.harness.attempt_world import Workshop
from tests.worker.town import CALC, CLAIM, FIX


def test_the_agents_commands_are_judged_and_the_harness_runs_its_tests_all_the_same(tmp_path: Path) -> None:
    wrapped: list[Path] = []

    def wrap(session: SandboxSession, workspace: Workspace) -> SandboxSession:
        wrapped.append(workspace.tree)
        return ConfinedSession(session, CommandPolicy.of(["ls"]), workspace.tree)

    workshop = Workshop(tmp_path, CALC)
    result = workshop.attempt(ScriptedAgent([FIX], CLAIM), wrap=wrap)
    assert result.outcome is Outcome.NO_CHANGE  # the fix is a shell's work, so it was refused
    assert len(wrapped) == 1 and wrapped[0].name == "tree"
    assert "baseline" in str(workshop.journal.__dict__)
