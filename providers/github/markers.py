"""Hidden marks by which our comments and pull requests are found again. Pure."""

from __future__ import annotations

import re

from domain.errors import ForgeError

MOST_BODY = 65_536
"""Characters that GitHub takes as a body."""

_TOPIC = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:/]|-(?!-)){0,199}")


def topic(name: str) -> str:
    """Return the mark of a comment that is rewritten. Raises ForgeError."""
    return f"<!-- fixwright:{_checked(name)} -->"


def once(key: str) -> str:
    """Return the mark of a comment that is written once. Raises ForgeError."""
    return f"<!-- fixwright-once:{_checked(key)} -->"


def marked(body: str, mark: str) -> str:
    """Return a text with a mark at its end, put there unless it is. Raises ForgeError if it is too long."""
    hidden = mark if mark.startswith("<!--") else topic(mark)
    text = body.rstrip()
    if not text.endswith(hidden):
        text = f"{text}\n\n{hidden}" if text else hidden
    if len(text) > MOST_BODY:
        raise ForgeError(f"the body is too long ({len(text)} characters; the maximum is {MOST_BODY})")
    return text


def is_marked(body: str, mark: str) -> bool:
    """Tell whether a text ends in this mark: one that quotes it does not."""
    return body.rstrip().endswith(mark)


def _checked(name: str) -> str:
    if not _TOPIC.fullmatch(name):
        raise ForgeError(f"{name[:60]!r} cannot be a marker; letters, digits and ._:/- can")
    return name
