"""RH010: a function that is emptied, cut short, or answers with a constant (Python)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical
from harness.guard.python_code import Function, PythonPair, dotted, functions_of
from harness.guard.python_flow import ends, truth
from harness.guard.python_walk import nodes_of
from harness.guard.rh001 import is_test_name

RULE = "RH010"
_WHY_CUT = "What follows never runs, so the tests no longer see the code that they were written for."
_WHY_STUB = "A function that does nothing cannot be wrong, and cannot be right."


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for functions that were there before and do less now than they should."""
    for path, pair in context.python.items():
        yield from _of_file(context, path, pair)


def _of_file(context: Context, path: str, pair: PythonPair) -> Iterator[Finding]:
    if pair.old is None or pair.new is None:
        return
    before = functions_of(pair.old)
    for name, new in functions_of(pair.new).items():
        old = before.get(name)
        if old is None or is_test_name(new.name):
            continue
        if _text(context, path, old, is_old=True) != _text(context, path, new, is_old=False) and (
            ast.dump(old) != ast.dump(new)
        ):
            yield from _less(path, name, old, new)


def _text(context: Context, path: str, node: Function, *, is_old: bool) -> list[bytes]:
    return context.lines(path, old=is_old)[node.lineno - 1 : node.end_lineno]


def _less(path: str, name: str, old: Function, new: Function) -> Iterator[Finding]:
    before, now = _body(old), _body(new)
    cut = _cut_short(now)
    if cut is not None and _cut_short(before) is None:
        yield critical(RULE, path, cut.lineno, f"the rest of `{name}` can never run", _WHY_CUT)
    elif _works(before) and not _works(now):
        yield critical(RULE, path, new.lineno, f"`{name}` is emptied or answers with a constant", _WHY_STUB)
    elif _heeds(old, before) and len(before) > len(now) == 1 and not _heeds(new, now) and not _calls(now):
        yield critical(
            RULE, path, new.lineno, f"`{name}` does not look at what it is given any more", _WHY_STUB
        )
    elif _never(now) > _never(before):
        yield critical(RULE, path, new.lineno, f"a part of `{name}` can never run", _WHY_CUT)


def _body(node: Function) -> list[ast.stmt]:
    """Return a function's statements without its docstring."""
    has_docstring = ast.get_docstring(node, clean=False) is not None
    return node.body[1:] if has_docstring else node.body


def _cut_short(body: list[ast.stmt]) -> ast.stmt | None:
    """Return a statement of the outermost block after which others stand that never run."""
    for statement in body[:-1]:
        if ends(statement) and not _is_generator_mark(body[body.index(statement) + 1 :]):
            return statement
    return None


def _is_generator_mark(rest: list[ast.stmt]) -> bool:
    """Tell whether what follows is only a `yield` that makes the function a generator."""
    return all(
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Yield | ast.YieldFrom) for item in rest
    )


def _never(body: list[ast.stmt]) -> int:
    """Count conditions that are always the same."""
    return sum(
        isinstance(node, ast.If | ast.IfExp) and truth(node.test) is not None
        for statement in body
        for node in nodes_of(statement)
    )


def _works(body: list[ast.stmt]) -> bool:
    """Tell whether a body does something beyond giving back a constant or saying that it is not done."""
    return any(_does(statement) for statement in body)


def _does(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom):
        return False
    if isinstance(statement, ast.Raise):
        name = dotted(statement.exc) if statement.exc is not None else ""
        return name.rsplit(".", 1)[-1] not in {"NotImplementedError", "NotImplemented"}
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return False
    value = statement.value if isinstance(statement, ast.Return) else statement
    if value is None:
        return False
    return any(
        isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.JoinedStr | ast.Lambda)
        for node in nodes_of(value)
    )


def _heeds(node: Function, body: list[ast.stmt]) -> bool:
    """Tell whether a body uses any of its function's parameters."""
    given = {item.arg for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return any(isinstance(item, ast.Name) and item.id in given for part in body for item in nodes_of(part))


def _calls(body: list[ast.stmt]) -> bool:
    return any(isinstance(item, ast.Call) for part in body for item in nodes_of(part))
