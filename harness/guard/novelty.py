"""Names that a change brings in: a test that fails for want of one shows only that it is new."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from domain.model import Category
from harness.guard.change import Change
from harness.guard.context import prepare
from harness.guard.python_walk import nodes_of
from harness.testing.cases import Case

_MISSING = re.compile(
    r"cannot import name '(\w+)'|No module named '[\w.]*?(\w+)'|has no attribute '(\w+)'"
    r"|name '(\w+)' is not defined|unexpected keyword argument '(\w+)'"
)


def unnamed_novelties(change: Change, issue_text: str) -> frozenset[str]:
    """Return the names that the change's sources define anew, without those that the issue has."""
    context = prepare(change, Category.BUG, issue_text)
    found: set[str] = set()
    for path, pair in context.python_sources():
        found |= set(_defined(pair.new)) - set(_defined(pair.old))
        if pair.old is None:
            found |= {PurePosixPath(path).stem, PurePosixPath(path).parent.name}
    said = set(re.findall(r"\w+", issue_text))
    return frozenset(found - said - {"", "__init__"})


def only_new(cases: Iterable[Case], novelties: frozenset[str]) -> frozenset[str]:
    """Return the names for want of which all of these tests fail; empty if one fails for another reason."""
    wanted: set[str] = set()
    for case in cases:
        names = {next(filter(None, groups)) for groups in _MISSING.findall(case.message)} & novelties
        if not names:
            return frozenset()
        wanted |= names
    return frozenset(wanted)


def _defined(tree: ast.Module | None) -> Iterator[str]:
    for node in nodes_of(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).rsplit(".", 1)[-1]
