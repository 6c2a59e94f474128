"""Settings for every test: nothing is fetched, no property test is judged by luck or by how long it takes."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # whoever imports it: no test asks the network

# Every day the same examples, so that a red run is about the change. The other profile looks for new ones.
settings.register_profile(
    "search", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fixed", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-texts", action="store_true", help="write the kept texts for people anew instead of comparing"
    )
