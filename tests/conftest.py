"""Settings for every test: nothing is fetched, and no property test is judged by how long it takes."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # whoever imports it: no test asks the network

settings.register_profile(
    "fixwright", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixwright")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-texts", action="store_true", help="write the kept texts for people anew instead of comparing"
    )
