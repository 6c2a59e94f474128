"""Python: examples in docstrings, which doctest runs."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from itertools import accumulate

from harness.in_source.layout import Home, Key, Layout, Region, numbered
from harness.syntax.parsing import LARGEST

_PROMPT = b">>>"
_Owner = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def layout_of(source: bytes) -> Layout | None:
    """Return where a file's examples are, and where others could be; None for one that does not parse."""
    if len(source) > LARGEST or b"\r" in source:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *accumulate(len(line) + 1 for line in source.split(b"\n"))]
    regions: list[Region] = []
    places: dict[Key, Home] = {}
    seen: dict[Key, int] = {}
    for name, node in _owners(tree):
        first = node.body[0] if node.body else None
        if first is None or first.end_lineno is None or first.end_col_offset is None:
            continue
        key = ("", numbered(name, seen, ""))
        start = starts[first.lineno - 1] + first.col_offset
        end = starts[first.end_lineno - 1] + first.end_col_offset
        if ast.get_docstring(node, clean=False) is None:
            if not source[starts[first.lineno - 1] : start].strip() and not _is_decorated(first):
                places[key] = Home(start, b"", b"\n" + b" " * first.col_offset)
        elif _PROMPT in source[start:end]:
            regions.append(Region(*key, start, end, b'""'))
        elif not isinstance(node, ast.Module):  # there, imports from the future could come second
            places[key] = Home(start, b"", b"; ")
    return Layout(source, tuple(regions), {}, places)


def _is_decorated(node: ast.stmt) -> bool:
    """A decorated definition begins on the line of its first decorator, which its own line is not."""
    return bool(getattr(node, "decorator_list", None))


def _owners(tree: ast.Module) -> Iterator[tuple[str, _Owner]]:
    """Yield whatever may have a docstring that doctest reads, with its name."""
    waiting: list[tuple[str, _Owner]] = [("module", tree)]
    while waiting:
        name, node = waiting.pop()
        yield name, node
        if isinstance(node, ast.Module | ast.ClassDef):
            for child in node.body:
                if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    waiting.append((f"{name}.{child.name}", child))
