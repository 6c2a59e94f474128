"""Rust tests that do not build on other sources are taken out, by the lines that the compiler names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tree_sitter import Node

from harness.in_source.layout import Region
from harness.in_source.rust import layout_of, parse
from harness.testing.compare import same_file

_ERROR = re.compile(
    r"^error(?:\[E\d{1,6}\])?: [^\n]{0,1000}\n(?:[^\n]{0,1000}\n){0,6}?"
    r"[ \t]{0,20}--> ([^\n:]{1,300}\.rs):(\d{1,7}):\d",
    re.MULTILINE,
)
_TWICE = re.compile(r"^error\[E0(?:428|252|254|255|260|119|592|201|034|659)\]", re.MULTILINE)
"""A name, an implementation or a method that is there twice, or could be either of two."""
_LISTS = frozenset({"mod_item", "impl_item", "trait_item", "declaration_list"})


def says_it_twice(output: str) -> bool:
    """Tell whether a compiler stopped since tests define what the sources have: no sign of a fault."""
    return _TWICE.search(output) is not None


def without_broken(texts: Mapping[str, bytes], output: str) -> dict[str, bytes] | None:
    """Return sources without those items of their tests in which the compiler found errors.

    None where it found some elsewhere, in the sources themselves, or nothing is left to take out.
    """
    places = _ERROR.findall(output)
    if not places:
        return None
    cut = dict(texts)
    for path, text in texts.items():
        lines = {int(line) for file, line in places if same_file(path, file)}
        places = [(file, line) for file, line in places if not same_file(path, file)]
        if lines:
            left = _without(text, lines)
            if left is None:
                return None
            cut[path] = left
    return None if places else cut


def _without(text: bytes, lines: set[int]) -> bytes | None:
    root, layout = parse(text), layout_of(text)
    if root is None or layout is None:
        return None
    pieces: dict[int, int] = {}
    for line in lines:
        piece = _piece(root, layout.regions, line - 1)
        if piece is None:
            return None
        pieces[piece[0]] = piece[1]
    for start in sorted(pieces, reverse=True):
        text = text[:start] + text[pieces[start] :]
    return text


def _piece(root: Node, regions: tuple[Region, ...], row: int) -> tuple[int, int] | None:
    """Return from where to where the innermost item of tests reaches that a line belongs to."""
    node = root.descendant_for_point_range((row, 0), (row, 10_000))
    while node is not None:
        parent = node.parent
        in_list = parent is None or parent.type in {"declaration_list", "source_file"}
        if in_list and node.type not in _LISTS and node.type != "source_file":
            break
        node = parent
    if node is None or node.parent is None:
        return None
    if not any(region.start <= node.start_byte and node.end_byte <= region.end for region in regions):
        return None
    start, before = node.start_byte, node.prev_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        start, before = before.start_byte, before.prev_sibling
    return start, node.end_byte
