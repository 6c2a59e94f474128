"""Cuts a finished page to what a forge takes, so that what is left still closes what it opened. Pure."""

from __future__ import annotations

import re

LONGEST_TEXT = 60_000
"""UTF-16 units; below the smallest limit of any forge (65,536 characters), with room for a marker."""

CUT = "[… cut: too long for one comment …]"

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ROOM = 200
"""Units kept free for what has to be closed and for the note."""


def length(text: str) -> int:
    """Return how long a forge may find a text: in UTF-16 units, where an emoji is two."""
    return len(text) + sum(character > "\uffff" for character in text)


def fitted(text: str, limit: int = LONGEST_TEXT) -> str:
    """Return a page of at most `limit` units: lines from its beginning, closed, with a note at the end."""
    if length(text) <= limit:
        return text
    kept = _within(text, max(0, limit - _ROOM))
    whole, _, _ = kept.rpartition("\n")
    shown = whole or kept
    return "\n".join([shown.rstrip("\n"), *_closing(shown), "", CUT])


def _within(text: str, limit: int) -> str:
    units = 0
    for place, character in enumerate(text):
        units += 2 if character > "\uffff" else 1
        if units > limit:
            return text[:place]
    return text


def _closing(text: str) -> list[str]:
    """Return the lines that close a code block and folded parts that are still open."""
    fence, folds = "", 0
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            folds += line.count("<details") - line.count("</details>")
    ends = ["</details>"] * min(max(0, folds), 3)
    return [*([fence] if fence else []), *(["", *ends] if ends else [])]
