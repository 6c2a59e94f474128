"""The lines between worker and child: one JSON object per line, every value checked on arrival."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Hashable, Mapping
from typing import TypeVar, cast

from pydantic import TypeAdapter, ValidationError

Message = dict[str, object]

LONGEST_LINE = 64 * 2**20
"""Bytes. No honest message comes near it."""

T = TypeVar("T")


class BadMessage(Exception):
    """A line that is not a message of this protocol."""


def encode(message: Mapping[str, object]) -> bytes:
    """Return a message as one line of ASCII."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """Return the message in a line. Raises BadMessage."""
    try:
        message = json.loads(line)
    except ValueError as error:
        raise BadMessage(f"not JSON: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise BadMessage("not an object with a type")
    return message


@functools.cache
def _adapter(kind: Hashable) -> TypeAdapter[object]:
    return TypeAdapter(cast("type[object]", kind))


def dump(kind: type[T], value: T) -> Message:
    """Return a dataclass as plain JSON values."""
    return cast("Message", _adapter(cast("Hashable", kind)).dump_python(value, mode="json"))


def load(kind: type[T], value: object) -> T:
    """Return a dataclass from plain JSON values. Raises BadMessage."""
    try:
        return cast("T", _adapter(cast("Hashable", kind)).validate_python(value))
    except ValidationError as error:
        first = error.errors()[0]
        raise BadMessage(f"{kind.__name__}.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def text_of(message: Mapping[str, object], key: str) -> str:
    """Return a text field. Raises BadMessage."""
    value = message.get(key)
    if not isinstance(value, str):
        raise BadMessage(f"{message.get('type')}.{key} is not text")
    return value


def count_of(message: Mapping[str, object], key: str) -> int:
    """Return a field that counts something. Raises BadMessage."""
    value = message.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadMessage(f"{message.get('type')}.{key} is not a count")
    return value


def seconds_of(message: Mapping[str, object], key: str) -> float | None:
    """Return a field that is a finite time of 0 or more, or None where it is absent. Raises BadMessage."""
    value = message.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadMessage(f"{message.get('type')}.{key} is not a time")
    return float(value)
