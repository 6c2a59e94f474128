"""The part of a Python file that differs, cut at definitions of the outermost level: quick to parse."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import dataclass

SMALLEST = 1500
"""Bytes; parsing a smaller file whole costs nothing to speak of."""
_BEGINS = (b"def ", b"class ", b"async def ", b"@")
_IMPORTS = re.compile(
    rb"^[ \t]*(from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\([^()]*\)|[\w., \t*]+)|import[ \t]+[\w., \t]+)"
    rb"[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)
_DEFINED = re.compile(rb"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The lines of both sides between which a file differs, from `start` to `old_end` or `new_end`."""

    old: list[bytes]
    new: list[bytes]
    start: int
    old_end: int
    new_end: int


def parsed_parts(old: bytes, new: bytes, *, in_tests: bool) -> tuple[ast.Module, ast.Module] | None:
    """Return the differing parts of both sides, with the imports of the file before them.

    None where a part does not stand for itself, or could mean something else in its whole file: then the file
    has to be parsed. Line numbers are those of the file.
    """
    if min(len(old), len(new)) < SMALLEST:
        return None
    cut = _cut(old.split(b"\n"), new.split(b"\n"))
    if cut is None or 2 * (cut.new_end - cut.start) > len(cut.new):
        return None
    parts = (cut.old[cut.start : cut.old_end], cut.new[cut.start : cut.new_end])
    if any(_is_elsewhere(b"\n".join(part), whole) for part, whole in zip(parts, (old, new), strict=True)):
        return None
    shared = b"\n".join([*cut.new[: cut.start], *cut.new[cut.new_end :]])
    head = _parsed(b"\n".join(match[1] for match in _IMPORTS.finditer(shared)))
    trees = [_joined(head, _parsed(b"\n" * cut.start + b"\n".join(part))) for part in parts]
    if trees[0] is None or trees[1] is None:
        return None
    if in_tests and not all(_only_defines(tree) for tree in trees if tree is not None):
        return None
    return trees[0], trees[1]


def _cut(old: list[bytes], new: list[bytes]) -> _Cut | None:
    first = _shared(old, new, min(len(old), len(new)))
    last = _shared(old[::-1], new[::-1], min(len(old), len(new)) - first)
    start = next((at for at in range(first, 0, -1) if at < len(old) and _may_cut(old, at)), 0)
    end = next((at for at in range(len(old) - last + 1, len(old)) if _may_cut(old, at)), len(old))
    before = b"\n".join(old[:start])
    if before.count(b'"""') % 2 or before.count(b"'''") % 2:
        return None
    return _Cut(old, new, start, end, end + len(new) - len(old))


def _shared(one: list[bytes], other: list[bytes], most: int) -> int:
    """Return how many lines two texts begin with alike, at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _may_cut(lines: list[bytes], at: int) -> bool:
    """Tell whether a definition begins on a line, after a blank one: no decorator belongs to it then."""
    return lines[at].startswith(_BEGINS) and not lines[at - 1].strip()


def _is_elsewhere(part: bytes, whole: bytes) -> bool:
    """Tell whether a name that a part defines is defined outside of it as well."""
    names = Counter(_DEFINED.findall(part))
    everywhere = Counter(_DEFINED.findall(whole)) if names else names
    return any(everywhere[name] > count for name, count in names.items())


def _parsed(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _joined(head: ast.Module | None, part: ast.Module | None) -> ast.Module | None:
    if head is None or part is None:
        return None
    part.body = [*head.body, *part.body]
    return part


def _only_defines(tree: ast.Module) -> bool:
    """Tell whether a part holds only functions, classes, imports and the file's docstring."""
    return all(
        isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
        for item in tree.body
    )
