"""A cancel and a SIGTERM end the running service's attempt. The long form is `make bench-stop ALL=1`."""

from __future__ import annotations

import pytest

from app.demo import stops
from app.demo.toolchain import BASE

pytestmark = [
    pytest.mark.long,
    pytest.mark.journey,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]


@pytest.mark.parametrize("how", ["cancel", "SIGTERM twice"])
def test_a_command_that_ignores_every_signal_ends_with_the_attempt(how: str) -> None:
    (phase,) = (phase for phase in stops.PHASES if phase.name == "command")

    found = stops.measure(phase, how)

    assert [problem for problem in found.problems if "took longer" not in problem] == []
