"""String literals as terms: whole, and as runs of three words, by which an error message finds its source."""

from __future__ import annotations

import re
from collections import Counter

LITERAL = "l:"
RUN = "s:"
LONGEST = 400
"""Characters; a longer literal is data or a docstring."""

_SHORT = 60
_STRINGS = re.compile(
    r"'''|\"\"\"|'(?:[^'\\\n]|\\.){0,400}'|\"(?:[^\"\\\n]|\\.){0,400}\"|`[^`]{0,400}`|(?:#|//)[^\n]*"
)
_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[-\d.]*[a-zA-Z%]|\$?\{[^{}]{0,80}\}|\\n|\\t")
_WORD = re.compile(r"[A-Za-z_]\w*|\d+")


def literal_terms(code: str) -> Counter[str]:
    """Return the terms of a piece of code's string literals. Comments and block strings are passed over."""
    found: Counter[str] = Counter()
    place = 0
    while match := _STRINGS.search(code, place):
        token = match.group()
        place = match.end()
        if token in {"'''", '"""'}:
            end = code.find(token, place)
            place = len(code) if end < 0 else end + 3
        elif token[0] not in "#/":
            _add(found, token[1:-1])
    return found


def _add(found: Counter[str], text: str) -> None:
    if " " in text:
        found.update(RUN + run for run in runs_of_words(text))
    if 2 <= len(text) <= _SHORT:
        found[LITERAL + text] += 1


def runs_of_words(text: str) -> list[str]:
    """Return each three words in a row, in lower case; a placeholder ends a row."""
    runs: list[str] = []
    for piece in _PLACEHOLDER.split(text):
        words = [word.lower() for word in _WORD.findall(piece)]
        runs += [" ".join(words[start : start + 3]) for start in range(len(words) - 2)]
    return runs
