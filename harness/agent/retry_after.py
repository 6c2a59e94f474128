"""How long a provider asks to be left alone: the Retry-After header in both its forms, or its words. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_WORDS = (
    re.compile(r"\"retryDelay\"\s*:\s*\"(?P<seconds>\d+(?:\.\d+)?)s\""),
    re.compile(
        r"try again in (?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m(?!s))?"
        r"(?:(?P<milliseconds>\d+(?:\.\d+)?)ms|(?P<seconds>\d+(?:\.\d+)?)\s?s)?"
    ),
)
"""Gemini's detail, and the sentence of OpenAI and those who follow it (`6m0s`, `1.5s`, `20ms`)."""

_UNITS = {"hours": 3600.0, "minutes": 60.0, "seconds": 1.0, "milliseconds": 0.001}


def seconds_asked_for(headers: Mapping[str, str], words: str, now: datetime) -> float | None:
    """Return the seconds to wait, never below 0, or None when nothing is asked for.

    `headers` are those of the answer, in any case of letters. A date is compared with the answer's own Date,
    where there is one, so that a clock that is wrong here does no harm.
    """
    known = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(known.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = known.get("retry-after", "")
    seconds = _number(asked)
    if seconds is None and asked:
        seconds = _until(asked, _moment(known.get("date", "")) or now)
    return seconds if seconds is not None else _said(words)


def _number(text: str) -> float | None:
    """Return a finite number that is not negative."""
    if not re.fullmatch(r"\d{1,18}(\.\d{1,9})?", text):
        return None
    return float(text)


def _until(text: str, now: datetime) -> float | None:
    moment = _moment(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _said(words: str) -> float | None:
    for pattern in _WORDS:
        match = pattern.search(words)
        parts = {name: value for name, value in match.groupdict().items() if value} if match else {}
        if parts:
            return math.fsum(float(value) * _UNITS[name] for name, value in parts.items())
    return None
