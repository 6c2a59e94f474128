"""The operator's limits of the sandbox hold for the agent's commands and for every run of the tests."""

from __future__ import annotations

from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, FIX, MEMORY, SHOW, Stage, plays


def test_each_session_gets_the_operators_limits(build: BuildTown) -> None:
    place, stage = build(CALC), Stage()
    place.issue()
    place.loop(plays(FIX, SHOW), sandbox=stage).turn()
    assert len(stage.policies) >= 4, "the agent, and at least three runs of the tests"
    assert {policy.memory_bytes for policy in stage.policies} == {MEMORY}
