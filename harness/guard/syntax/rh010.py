"""RH010 by syntax: a function that is emptied, cut short, or answers with a constant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.dialect import Dialect, truth
from harness.guard.syntax.files import SyntaxFile, is_others
from harness.guard.syntax.model import Kind, Unit
from harness.guard.syntax.nodes import IDENTIFIERS, is_literal, text_of, walk
from harness.guard.syntax.view import is_end

RULE = "RH010"
_WHY_CUT = "What follows never runs, so the tests no longer see the code that they were written for."
_WHY_STUB = "A function that does nothing cannot be wrong, and cannot be right."
_UNDONE = re.compile(
    r"(?:todo|unimplemented)!.*|panic!?\s*\(.*|(?:throw|raise|return)\b.*(?:NotImplemented|UnsupportedOperation).*"
    r"|(?:throw|raise)\b.*(?i:not implemented|todo|unsupported).*|NotImplementedError",
    re.DOTALL,
)

_WRAPPERS = frozenset(
    {
        *(
            "Ok",
            "Some",
            "None",
            "Err",
            "nil",
            "undefined",
            "Optional",
            "Collections",
            "empty",
            "emptyList",
            "List",
        )
    }
)
"""Names that may stand around a constant without making it more than one."""


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for functions that were there before and do less now than they should."""
    for file in context.files:
        before = {view.unit.name: view.unit for view in file.gone if view.unit.kind is Kind.FUNCTION}
        for view in file.came:
            if view.unit.kind is not Kind.FUNCTION:
                continue
            old = before.get(view.unit.name)
            if old is not None:
                yield from _less(file, old, view.unit)


def _less(file: SyntaxFile, old: Unit, new: Unit) -> Iterator[Finding]:
    dialect = file.dialect
    before, now = dialect.body(old.node), dialect.body(new.node)
    if not before or now is None:
        return
    make = warning if is_others(file.delta) else critical
    cut = _cut_short(now, dialect)
    if cut is not None and _cut_short(before, dialect) is None:
        yield make(
            RULE, file.path, cut.start_point[0] + 1, f"the rest of `{new.name}` can never run", _WHY_CUT
        )
    elif _works(before) and not _works(now):
        yield make(
            RULE, file.path, new.line, f"`{new.name}` is emptied or answers with a constant", _WHY_STUB
        )
    elif _never(now, dialect) > _never(before, dialect):
        yield make(RULE, file.path, new.line, f"a part of `{new.name}` can never run", _WHY_CUT)


def _cut_short(body: list[Node], dialect: Dialect) -> Node | None:
    """Return the statement after which others stand that never run."""
    for node in body[:-1]:
        if is_end(node, dialect):
            after = body[body.index(node) + 1 :]
            is_code = any(
                item.type not in {"function_declaration", "function_item", "method"} for item in after
            )
            return node if is_code else None
    return None


def _never(body: list[Node], dialect: Dialect) -> int:
    """Count conditions that are always the same."""
    found = 0
    for statement in body:
        for node in walk(statement):
            if node.type in dialect.branches and truth(node.child_by_field_name("condition")) is not None:
                found += 1
    return found


def _works(body: list[Node]) -> bool:
    """Tell whether a body does something: it names or calls anything beyond giving back a constant."""
    if not body:
        return False
    if len(body) == 1 and _UNDONE.fullmatch(text_of(body[0]).strip().rstrip(";")):
        return False
    return any(_does(node) for node in body) and not all(_is_undone(node) for node in body)


def _is_undone(node: Node) -> bool:
    return _UNDONE.fullmatch(text_of(node).strip().rstrip(";")) is not None


def _does(node: Node) -> bool:
    """Tell whether anything is named but what wraps a constant."""
    if is_literal(node):
        return False
    return any(
        item.type in IDENTIFIERS or item.type in {"self", "this", "super", "scoped_identifier"}
        for item in walk(node)
        if text_of(item) not in _WRAPPERS
    )
