"""Settings for every test: machines are noisy, so no property test is judged by how long it takes."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixwright", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixwright")
