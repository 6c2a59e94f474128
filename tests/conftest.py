"""Settings for every test: nothing is fetched, and no property test is judged by how long it takes."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # whoever imports it: no test asks the network

settings.register_profile(
    "fixwright", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixwright")
