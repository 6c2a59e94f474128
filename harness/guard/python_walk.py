"""All nodes below a node of a Python tree: as `ast.walk` gives them, in a third of its time."""

from __future__ import annotations

import ast
from functools import lru_cache

_NO_NODES = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "module", "level", "kind", "type_comment"})
"""Fields that hold no node that anybody asks for: names, and the signs of operators and of contexts."""


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, breadth first; signs of operators and contexts are left out.

    A node keeps what was found, so that several rules may ask.
    """
    kept: list[ast.AST] | None = node.__dict__.get("walked")
    if kept is None:
        kept = [node]
        for each in kept:
            kept += children_of(each)
        node.__dict__["walked"] = kept
    return kept


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node, in order, signs of operators and contexts left out."""
    found: list[ast.AST] = []
    kind: type = type(node)
    for name in _fields(kind):
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@lru_cache(maxsize=256)
def _fields(kind: type) -> tuple[str, ...]:
    """Return the fields of a kind of node in which nodes may be."""
    if issubclass(kind, ast.Constant | ast.Name | ast.Global | ast.Nonlocal | ast.alias):
        return ()
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return tuple(name for name in names if name not in _NO_NODES)
