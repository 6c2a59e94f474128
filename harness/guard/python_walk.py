"""All nodes below a node of a Python tree: as `ast.walk` gives them, in a third of its time."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

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
            kind: type = type(each)
            for name in _fields(kind):
                value = getattr(each, name, None)
                if isinstance(value, ast.AST):
                    kept.append(value)
                elif value.__class__ is list:
                    kept += [item for item in value if isinstance(item, ast.AST)]
        node.__dict__["walked"] = kept
    return kept


def of_kinds(tree: ast.AST | None, *kinds: type[_Node]) -> list[_Node]:
    """Return the nodes of some kinds below a node, kind by kind, each breadth first; none below None.

    The tree is sorted once, so that each rule looks at its own kinds only.
    """
    if tree is None:
        return []
    sorted_: dict[type, list[ast.AST]] | None = tree.__dict__.get("by_kind")
    if sorted_ is None:
        sorted_ = {}
        for node in nodes_of(tree):
            kind = type(node)
            if kind in sorted_:
                sorted_[kind].append(node)
            else:
                sorted_[kind] = [node]
        tree.__dict__["by_kind"] = sorted_
    found: list[_Node] = []
    for kind in kinds:
        found += sorted_.get(kind, ())  # type: ignore[arg-type]  # sorted by their very kind above
    return found


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
