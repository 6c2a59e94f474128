"""Wildcards for protected paths, as `.gitignore` writes them, compared without regard to case. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁԛԝһвкмтнАВЕКМНОРСТУХІЈЅɡıα᎐ορντυκρⅼⅽⅾⅿ٠∙·․‐‑‒–—−∕⁄＼",
    "aeopcyxijsdqwhbkmthabekmhopctyxijsgia.opvtukplcdmo...------///",
)
"""Letters of other alphabets that are read as Latin ones, and signs that are read as dot, dash and slash."""


@lru_cache(maxsize=4096)
def folded(path: str) -> str:
    """Return a path in the form in which paths are compared: what some system or some reader takes it for.

    Spelled alike, and as Windows reads it: either slash, no dots or blanks at a name's end, no streams.
    """
    steps = _spelled(path).replace("\\", "/").split("/")
    bare = (step.split(":", 1)[0] if step.find(":") > 0 else step for step in steps)
    return "/".join(step.rstrip(". \t") or step for step in bare)


def _spelled(text: str) -> str:
    """Return text in one case and with composed letters, without those that have no shape, alike as alike."""
    bare = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text).translate(_LOOK_ALIKES)).casefold()
    return unicodedata.normalize("NFC", bare.translate(_LOOK_ALIKES))


def literal(name: str) -> str:
    """Return a pattern that covers this very name and nothing else."""
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", name)


def protecting(path: str, patterns: Iterable[str]) -> str:
    """Return the first pattern that covers a path, itself or a directory above it; "" if none does."""
    name = folded(path)
    return next((pattern for pattern in patterns if _expression(_spelled(pattern)).match(name)), "")


def reaching_below(path: str, patterns: Iterable[str]) -> str:
    """Return the first anchored pattern that covers something below a path; "" if none does.

    A link put in the place of `.github` changes what `.github/workflows/**` is meant to keep.
    """
    steps = folded(path).split("/")
    return next((pattern for pattern in patterns if _starts(_spelled(pattern), steps)), "")


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
