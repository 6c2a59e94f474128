"""The part of a large file that differs, cut at items of the outermost level: quick to parse."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tree_sitter import Tree

from harness.guard.syntax.grammar import LARGEST, Language, as_utf8, parse_part, shared_ends

SMALLEST = 4000
"""Bytes; parsing a smaller file whole costs nothing to speak of."""
_CUT = frozenset({Language.RUST, Language.GO, Language.JAVASCRIPT, Language.TYPESCRIPT, Language.TSX})
"""Languages whose items are told by braces. In Ruby a line far away may end what begins here, or all."""
_BEGINS = re.compile(rb"(?<=\n\n)(?=[A-Za-z_$#@/'\"])")
"""Where an item may begin: at a line's start, after an empty line."""
_OPENS = re.compile(rb"^[^\s/*].*[{(\[][ \t]*(?://.*)?$|^[{(\[]$", re.MULTILINE)
_CLOSES = re.compile(rb"^[})\]]", re.MULTILINE)
"""Lines without an indent that open something for the lines below, or close it."""
_OF_THE_WHOLE = re.compile(rb"#!\[|^package\b|//go:build|// \+build", re.MULTILINE)
"""What speaks of the whole file: it is read as a whole then."""


@dataclass(frozen=True, slots=True)
class _Range:
    """From which byte to which a text differs, with the items around it."""

    start: int
    end: int


def parsed_parts(language: Language, old: bytes, new: bytes) -> tuple[Tree, Tree] | None:
    """Return trees of the differing parts of both sides; None where the file has to be parsed as a whole.

    Bytes and lines are those of the file.
    """
    if language not in _CUT or min(len(old), len(new)) < SMALLEST or max(len(old), len(new)) > LARGEST:
        return None
    old, new = as_utf8(old), as_utf8(new)
    ranges = _ranges(old, new)
    if ranges is None:
        return None
    trees = []
    for text, part in zip((old, new), ranges, strict=True):
        if _OF_THE_WHOLE.search(text, part.start, part.end):
            return None
        tree = parse_part(language, text, part.start, part.end)
        if tree.root_node.has_error:
            return None
        trees.append(tree)
    return trees[0], trees[1]


def _ranges(old: bytes, new: bytes) -> tuple[_Range, _Range] | None:
    first, last = shared_ends(old, new)
    start = _before(old, first)
    end = _BEGINS.search(old, min(len(old), len(old) - last + 1))
    left = len(old) - end.start() if end is not None else 0
    if 2 * (len(new) - left - start) > len(new) or not _is_balanced(old[:start]):
        return None
    return _Range(start, len(old) - left), _Range(start, len(new) - left)


def _before(text: bytes, place: int) -> int:
    """Return where the item that a place belongs to begins: no attribute or decorator stands before it."""
    while place > 0:
        blank = text.rfind(b"\n\n", 0, place)
        if blank < 0:
            return 0
        line = text[text.rfind(b"\n", 0, blank) + 1 : blank].lstrip()
        if _BEGINS.match(text, blank + 2) and not line.startswith((b"#", b"@")):
            return blank + 2
        place = blank
    return 0


def _is_balanced(before: bytes) -> bool:
    """Tell whether nothing is open at a cut, as far as its lines without an indent can tell."""
    if before.count(b"`") % 2 or before.rfind(b"/*") > before.rfind(b"*/"):
        return False
    return len(_OPENS.findall(before)) == len(_CLOSES.findall(before))
