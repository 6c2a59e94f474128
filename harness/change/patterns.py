"""Wildcards for protected paths, as `.gitignore` writes them, compared without regard to case. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache


def folded(path: str) -> str:
    """Return a path in the form in which paths are compared: one case, composed letters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())


def protecting(path: str, patterns: Iterable[str]) -> str:
    """Return the first pattern that covers a path, itself or a directory above it; "" if none does."""
    name = folded(path)
    return next((pattern for pattern in patterns if _expression(folded(pattern)).match(name)), "")


def reaching_below(path: str, patterns: Iterable[str]) -> str:
    """Return the first anchored pattern that covers something below a path; "" if none does.

    A link put in the place of `.github` changes what `.github/workflows/**` is meant to keep.
    """
    steps = folded(path).split("/")
    return next((pattern for pattern in patterns if _starts(folded(pattern), steps)), "")


def _starts(pattern: str, steps: list[str]) -> bool:
    anchored = pattern.strip("/").split("/")
    if len(anchored) <= len(steps):
        return False
    return all(
        re.fullmatch(_segment(wanted), step) is not None
        for wanted, step in zip(anchored, steps, strict=False)
        if wanted != "**"
    )


@lru_cache(maxsize=512)
def _expression(pattern: str) -> re.Pattern[str]:
    """Translate one pattern. Without a slash inside it holds at every level; all below is covered too."""
    body = pattern.strip("/")
    anchored = "/" in pattern.rstrip("/")
    parts = body.split("/")
    expression = ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            expression += ".+" if last else "(?:[^/]+/)*"
        else:
            expression += _segment(part) + ("" if last else "/")
    return re.compile(("" if anchored else "(?:.*/)?") + expression + r"(?:/.*)?\Z", re.DOTALL)


def _segment(part: str) -> str:
    """Translate what stands between two slashes: `*`, `?` and `[...]`; all else is literal."""
    out, index = "", 0
    while index < len(part):
        character = part[index]
        closing = part.find("]", index + 2)
        if character == "[" and closing > 0:
            inside = part[index + 1 : closing].replace("\\", "\\\\").replace("[", "\\[")
            out += "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            index = closing
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(character, re.escape(character))
        index += 1
    return out
