"""Whether an issue names a literal: old and new, each as a word of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

_PLAIN = re.compile(r"(?:\\[AbzZ]|[\w\s^$:,'\"-])*+")
"""Words and anchors: put around a pattern, they ask for more."""


def is_named(lost: Sequence[str], gained: Sequence[str], issue_text: str) -> bool:
    """Tell whether the issue's text has every lost literal and every gained one, as words of their own."""
    return bool(lost) and bool(gained) and all(occurs(item, issue_text) for item in [*lost, *gained])


def narrowed(lost: Sequence[str], gained: Sequence[str]) -> list[str]:
    """Return the lost literals without those patterns that a gained one narrows by text or anchors around."""
    return [each for each in lost if not any(_narrows(other, each) for other in gained)]


def _narrows(new: str, old: str) -> bool:
    pattern, flags = _pattern(old)
    other, now = _pattern(new)
    if not pattern or pattern == other or flags != now or "|" in pattern:
        return False
    before, found, after = other.partition(pattern)
    return bool(found) and bool(_PLAIN.fullmatch(before)) and bool(_PLAIN.fullmatch(after))


def _pattern(literal: str) -> tuple[str, str]:
    """Return the text and the flags of a pattern, "" for any other literal."""
    body, slash, flags = literal[1:].rpartition("/")
    return (body, flags) if literal.startswith("/") and slash else ("", "")


def occurs(literal: str, text: str) -> bool:
    """Tell whether a text has a literal, given as Python writes it: a string without its quotes."""
    value = literal
    if literal[:1] in "'\"" or literal[:2] in {"b'", 'b"'}:
        value = str(ast.literal_eval(literal))
    elif (
        literal.startswith("/") and literal.rfind("/") > 1
    ):  # a pattern, which people quote without its slashes
        value = literal[1 : literal.rfind("/")]
    if len(value.strip()) == 0:
        return literal in text
    return bool(re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", text))
