"""Cuts an issue down to what a model should read: its head, its tail and a stack trace from between. Pure."""

from __future__ import annotations

import re

from domain.text import clip

LONGEST_TRACE = 3_600
LOOKED_AT = 300
"""Characters of a line that are looked at; no line that matters is recognised by more."""

_OPENING = re.compile(
    r"Traceback \(most recent call last\)|Exception in thread|panicked at|(?:Error|Exception)\b.{0,4}:"
)
_GOES_ON = re.compile(r"[ \t]+\S|Caused by:|[\w.]{1,100}(?:Error|Exception)\b")
HEADING_LINES = 2
"""Unindented lines that may stand between the opening line and the first frame."""


def clip_issue(text: str, limit: int) -> str:
    """Return at most `limit` characters: the head, the tail, and the last stack trace between them."""
    if len(text) <= limit:
        return text
    head = tail = limit * 3 // 10
    trace = last_trace(text[head : len(text) - tail])
    if not trace:
        return clip(text, limit)
    cut = "\n[… left out …]\n"
    return text[:head] + cut + clip(trace, min(LONGEST_TRACE, limit // 3)) + cut + text[-tail:]


def last_trace(text: str) -> str:
    """Return the last stack trace in a text, of whatever language, or "". Takes linear time."""
    lines = text.split("\n")
    found: list[str] = []
    at = 0
    while at < len(lines):
        end = _end_of_trace(lines, at) if _OPENING.search(lines[at][:LOOKED_AT]) else at
        if end > at:
            found = lines[at:end]
        at = max(end, at + 1)
    return "\n".join(found)


def _end_of_trace(lines: list[str], start: int) -> int:
    """Return the index after a trace's last line; `start` when no frame follows the opening line."""
    at = start + 1
    while at < len(lines) and at <= start + HEADING_LINES and not lines[at][:1].isspace():
        at += 1
    if at >= len(lines) or not _GOES_ON.match(lines[at][:LOOKED_AT]):
        return start
    while at < len(lines) and _GOES_ON.match(lines[at][:LOOKED_AT]):
        at += 1
    return at
