"""Finds where a line of Markdown begins a block, behind whatever quotations and list items it stands in.

A scanner and not one pattern: Python before 3.11.5 mismatches repeated possessive groups
(https://github.com/python/cpython/issues/106052), and text that must be inert would not be.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LINE_CHARACTERS = "-=*_|:+ \t"
_LINE_STARTS = frozenset("-=*_|:+")
_ORDERED = re.compile(r"\d{1,9}[.)](?=[ \t])")
_BULLET = re.compile(r"[-*+](?=[ \t])")
_BLOCK = re.compile(r"#|\[[ \txX]\]|\[!|\[[^\]\n]*\]:|/[A-Za-z][\w-]*(?:[ \t]|$)")
_FENCE = re.compile(r"`{3}|~{3}")

Finder = Callable[[str], int | None]
"""Takes a line and returns where to break the block that begins there, or None."""


def broken_at(text: str, find: Finder, mark: str) -> str:
    """Return text with `mark` put into each line where `find` says."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        place = find(line)
        if place is not None:
            lines[number] = line[:place] + mark + line[place:]
    return "\n".join(lines)


def rule_start(line: str) -> int | None:
    """Find a line of rules: a heading's underline, a thematic break, a table's second row."""
    end = len(line.rstrip(_LINE_CHARACTERS))
    place = 0
    while place < len(line):
        if place >= end and line[place] in _LINE_STARTS:
            return place
        following = _past_one_container(line, place)
        if following is None:
            return None
        place = following
    return None


def block_start(line: str) -> int | None:
    """Find a heading, a check box, an alert, a link's definition or a quick action."""
    return _at_start(line, _BLOCK)


def fence_start(line: str) -> int | None:
    """Find the beginning of a code block."""
    return _at_start(line, _FENCE)


def _at_start(line: str, pattern: re.Pattern[str]) -> int | None:
    place: int | None = 0
    last = 0
    while place is not None and place < len(line):
        last = place
        if pattern.match(line, last):
            return last
        place = _past_one_container(line, last)
    return None


def _past_one_container(line: str, place: int) -> int | None:
    """Return the place after one blank, quotation mark, bullet or number, or None where there is none."""
    if line[place] in " \t>":
        return place + 1
    found = _BULLET.match(line, place) or _ORDERED.match(line, place)
    return found.end() if found else None
