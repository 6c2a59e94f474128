"""How journeys are marked: they are long, and need the sandbox's tool chain."""

from __future__ import annotations

import pytest

from app.demo.toolchain import BASE

WHOLE_RUNS = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]
