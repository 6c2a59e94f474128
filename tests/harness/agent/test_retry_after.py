"""How long a provider asks to be left alone, in every form that is sent."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.agent.retry_after import seconds_asked_for

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
IN_90_SECONDS = "Sun, 01 Mar 2026 12:01:30 GMT"


@pytest.mark.parametrize(
    ("headers", "words", "seconds"),
    [
        ({}, "", None),
        ({"Retry-After": "20"}, "", 20.0),
        ({"retry-after": " 0.5 "}, "", 0.5),
        ({"RETRY-AFTER": IN_90_SECONDS}, "", 90.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, "", 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:30 -0000"}, "", 90.0),
        ({"retry-after": IN_90_SECONDS, "date": "Sun, 01 Mar 2026 12:01:00 GMT"}, "", 30.0),
        ({"retry-after": IN_90_SECONDS, "date": "yesterday"}, "", 90.0),
        ({"retry-after-ms": "1500", "retry-after": "20"}, "", 1.5),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "1e9"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "Sun, 99 Mar 2026 12:01:30 GMT"}, "", None),
        ({"retry-after": "9" * 30}, "", None),
        ({"retry-after": "soon"}, "Please try again in 6m0s.", 360.0),
        ({}, "Rate limit reached. Please try again in 1.5s. See the docs", 1.5),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 1h2m3s", 3723.0),
        ({}, "try again in a while", None),
        ({}, '"details": [{"@type": "RetryInfo", "retryDelay": "34s"}]', 34.0),
        ({"retry-after": "7"}, '"retryDelay": "34s"', 7.0),
    ],
)
def test_the_wait_is_read(headers: dict[str, str], words: str, seconds: float | None) -> None:
    assert seconds_asked_for(headers, words, NOW) == seconds
