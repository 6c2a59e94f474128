"""A transcript's record as what people look for in it: prompts, answers, commands, outputs, cost. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from domain.text import clip

LONGEST_TEXT = 20_000
"""Characters of one text in an entry; of more, the middle is left out."""

MOST_ENTRIES = 200

Redact = Callable[[str], str]
Fields = Mapping[str, object]
Entry = dict[str, object]

_REPORTS = ("restatement", "claim", "summary")
"""Records that hold one thing under its own name."""


def kind_of(record: Fields) -> str:
    """Return what a record is: "step", "restatement", "claim", "summary", or "other"."""
    if "messages" in record:
        return "step"
    return next((name for name in _REPORTS if name in record), "other")


def shown(record: Fields, redact: Redact) -> Entry:
    """Return a record for people, its texts redacted and clipped, under the kind's own names.

    A step has `step`, `at`, `cost` (dollars as text), `seconds`, `tokens`, and `entries`: each with a `role`
    ("prompt", "answer", "command", "output" or "end") and its `text`.
    """
    if kind_of(record) != "step":
        return {name: _clean(record[name], redact) for name in _REPORTS if name in record}
    return {
        "step": _number(record.get("step")),
        "kind": _text(record.get("kind"), redact),
        "at": _text(record.get("at"), redact),
        "cost": _text(record.get("cost"), redact),
        "seconds": _number(record.get("seconds")),
        "tokens": _tokens(record.get("usage")),
        "entries": list(islice(_all_entries(record, redact), MOST_ENTRIES)),
    }


def _all_entries(record: Fields, redact: Redact) -> Iterator[Entry]:
    for message in _sequence(record.get("messages")):
        yield from _entries(_fields(message), redact)


def _entries(message: Fields, redact: Redact) -> Iterator[Entry]:
    role, text = message.get("role"), _text(message.get("content"), redact)
    extra = _fields(message.get("extra"))
    if role == "assistant":
        yield from _answer(message, text, extra, redact)
    elif role == "exit":
        yield {"role": "end", "text": text, "status": _text(extra.get("exit_status"), redact)}
    elif role == "tool" or extra.get("observation"):
        yield {
            "role": "output",
            "text": text,
            "exit_code": _number(extra.get("exit_code")),
            "seconds": _number(extra.get("seconds")),
            "timed_out": extra.get("timed_out") is True,
        }
    else:
        yield {"role": "prompt", "text": text, "from": "rules" if role == "system" else "harness"}


def _answer(message: Fields, text: str, extra: Fields, redact: Redact) -> Iterator[Entry]:
    thoughts = _text(extra.get("thoughts"), redact)
    if thoughts:
        yield {"role": "answer", "text": thoughts, "is_thought": True}
    if text:
        yield {"role": "answer", "text": text, "is_thought": False}
    calls = _sequence(message.get("tool_calls"))
    for call in calls:
        function = _fields(_fields(call).get("function"))
        arguments = _arguments(function.get("arguments"))
        name = _text(function.get("name"), redact)
        command = arguments.get("command") if name == "bash" else None
        written = command if isinstance(command, str) else json.dumps(dict(arguments), ensure_ascii=False)
        yield {"role": "command", "text": _text(written, redact), "tool": name}
    if not calls:
        for action in _sequence(extra.get("actions")):
            command = _fields(action).get("command")
            if isinstance(command, str):
                yield {"role": "command", "text": _text(command, redact), "tool": "bash"}


def _arguments(value: object) -> Fields:
    if not isinstance(value, str):
        return _fields(value)
    try:
        return _fields(json.loads(value))
    except (ValueError, RecursionError):
        return {"arguments": value}


def _tokens(usage: object) -> Entry:
    return {name: _number(value) for name, value in _fields(usage).items() if name.endswith("_tokens")}


def _clean(value: object, redact: Redact, depth: int = 0) -> object:
    """Redact and clip every text in a value of JSON; what is nested too deep is left out."""
    if isinstance(value, str):
        return _text(value, redact)
    if depth > 6:
        return None
    if isinstance(value, Mapping):
        return {_text(str(key), redact): _clean(each, redact, depth + 1) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_clean(each, redact, depth + 1) for each in value[:MOST_ENTRIES]]
    return value if isinstance(value, bool) else _number(value)


def _text(value: object, redact: Redact) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clip(redact(text), LONGEST_TEXT)


def _number(value: object) -> int | float | None:
    """Return a number that JSON can write, which NaN is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def _fields(value: object) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
