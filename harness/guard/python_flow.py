"""Which Python statements can run, and under which conditions."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from harness.guard.python_walk import nodes_of

MOST_GUARDS = 20
"""Conditions that are told for one place; more of them say no more."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SPEAKS = re.compile(r"assert\w*|fail|skip\w*|raises|warns|xfail|exit")


def live_nodes(body: list[ast.stmt], *, calls: bool = True) -> Iterator[ast.stmt]:
    """Walk statements that can run: not after a return in the same block, not under `if False`.

    Without `calls`, only those that run with the block itself: functions' bodies are left out.
    """
    return (statement for statement, _ in guarded_nodes(body, calls=calls))


def guarded_nodes(
    body: list[ast.stmt],
    guards: tuple[str, ...] = (),
    *,
    calls: bool = True,
    used: Collection[str] | None = None,
) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Walk statements that can run, each with the conditions that it runs under and that may not hold.

    Of functions inside, only those are entered whose names are `used`, or that are decorated; None for all.
    """
    for statement in body:
        yield statement, guards
        if not isinstance(statement, _FUNCTIONS) or (calls and _is_used(statement, used)):
            for inner, more in _blocks(statement):
                yield from guarded_nodes(inner, (*guards, *more), calls=calls, used=used)
        if ends(statement):
            return
        if isinstance(statement, ast.If) and len(guards) < MOST_GUARDS and _leaves_quietly(statement):
            guards = (*guards, f"not ({ast.unparse(statement.test)})")


def _is_used(node: ast.FunctionDef | ast.AsyncFunctionDef, used: Collection[str] | None) -> bool:
    return used is None or bool(node.decorator_list) or node.name in used


def _blocks(statement: ast.stmt) -> Iterator[tuple[list[ast.stmt], tuple[str, ...]]]:
    """Yield the blocks of a statement that can run, with the conditions that they add."""
    if isinstance(statement, ast.If | ast.While):
        value = truth(statement.test)
        text = ast.unparse(statement.test) if len(ast.dump(statement.test)) < 5000 else "…"
        both = value is not None or (_speaks(statement.body) and _speaks(statement.orelse))
        if value is not False:
            yield statement.body, () if both else (text,)
        if value is not True:
            yield statement.orelse, () if both else (f"not ({text})",)
        return
    for name in ("body", "orelse", "finalbody"):
        is_empty = (
            name == "body" and isinstance(statement, ast.For | ast.AsyncFor) and _is_empty(statement.iter)
        )
        inner = [item for item in getattr(statement, name, []) if isinstance(item, ast.stmt)]
        if inner and not is_empty:
            yield inner, ()
    for handler in getattr(statement, "handlers", []):
        yield handler.body, ("an error",)
    for case in getattr(statement, "cases", []):
        yield case.body, ()


def ends(statement: ast.stmt) -> bool:
    """Tell whether nothing after a statement runs: a `return`, or an `if True` around one."""
    if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.If) and truth(statement.test) is True:
        return any(map(ends, statement.body))
    return False


def truth(node: ast.expr) -> bool | None:
    """Return what a condition always is, None for one that depends on something."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = truth(node.operand)
        return None if value is None else not value
    if isinstance(node, ast.BoolOp):
        values = [truth(item) for item in node.values]
        decisive = isinstance(node.op, ast.Or)
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            if isinstance(node.ops[0], ast.Eq):
                return bool(left.value == right.value)
            if isinstance(node.ops[0], ast.NotEq):
                return bool(left.value != right.value)
    return None


def goes_through(loop: ast.For | ast.AsyncFor) -> bool:
    """Tell whether a loop asserts something of each item of what is not plainly nothing."""
    return not _is_empty(loop.iter) and _speaks(loop.body)


def _leaves_quietly(statement: ast.If) -> bool:
    """Tell whether a condition makes a test end without a word."""
    leaves = bool(statement.body) and isinstance(statement.body[-1], ast.Return) and not statement.orelse
    return leaves and not _speaks(statement.body)


def _speaks(body: list[ast.stmt]) -> bool:
    for statement in body:
        for node in nodes_of(statement):
            if isinstance(node, ast.Assert | ast.Raise):
                return True
            if isinstance(node, ast.Call) and _SPEAKS.match(_name(node.func)):
                return True
    return False


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_empty(node: ast.expr) -> bool:
    """Tell whether there is nothing to go through."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    if isinstance(node, ast.Call) and _name(node.func) in {"range", "list", "tuple", "set", "dict", "iter"}:
        return not node.args or (
            isinstance(node.args[0], ast.Constant) and node.args[0].value == 0 and len(node.args) == 1
        )
    return isinstance(node, ast.Constant) and not node.value
