"""A process killed at a random instant costs nothing but time. The long form is `make crash RUNS=20`."""

from __future__ import annotations

import pytest

from app.demo import kills
from app.demo.toolchain import BASE

pytestmark = [
    pytest.mark.long,
    pytest.mark.journey,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]


@pytest.mark.parametrize("seed", [11, 12])
def test_whoever_is_killed_nothing_is_lost_doubled_or_paid_twice(seed: int) -> None:
    outcome = kills.run(seed, window_seconds=8.0)
    assert outcome.problems == ()
    assert outcome.repeated_calls <= 1
