"""Reading a JSON report that tested code may have written itself: bounded in bytes, values and depth."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

MAX_BYTES = 32 * 2**20
MAX_VALUES = 2_000_000
MAX_TEXT = 4000
_STRUCTURE = (b"[", b"{", b",")


def read_json(data: bytes) -> object | None:
    """Return a report's value, or None for one that is too large, too deep, or no JSON."""
    if len(data) > MAX_BYTES or sum(data.count(sign) for sign in _STRUCTURE) > MAX_VALUES:
        return None
    try:
        value: object = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value


def objects(value: object, key: str) -> Iterator[Mapping[str, object]]:
    """Yield the objects in the list that a report's object has under a key."""
    found = value.get(key) if isinstance(value, dict) else None
    for item in found if isinstance(found, list) else ():
        if isinstance(item, dict):
            yield item


def text(value: Mapping[str, object], key: str) -> str:
    """Return a text of an object, "" where it has none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def texts(value: Mapping[str, object], key: str) -> list[str]:
    """Return the texts in a list of an object."""
    found = value.get(key)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def number(value: Mapping[str, object], key: str) -> float:
    """Return a number of an object, 0.0 where it has none; never less than that, never endless."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return 0.0
    try:
        seconds = float(found)
    except OverflowError:
        return 0.0
    return seconds if 0 <= seconds < 1e9 else 0.0


def clipped(message: str) -> str:
    """Return as much of a message as is kept: its beginning says what failed, its end where."""
    return (
        message
        if len(message) <= MAX_TEXT
        else message[: MAX_TEXT // 2] + "\n…\n" + message[-MAX_TEXT // 2 :]
    )
