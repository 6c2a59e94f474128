"""RH003: errors are newly swallowed broadly, so that nothing can be seen to fail (Python)."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import dotted, functions_of
from harness.guard.python_walk import nodes_of, of_kinds
from harness.testing.paths import is_test_side

RULE = "RH003"
_WHY = "An error that is swallowed looks like success: to callers, and to the tests."
_BROAD = frozenset({"Exception", "BaseException", "builtins.Exception", "AssertionError"})
_HANDLING: tuple[type[ast.AST], ...] = (ast.ExceptHandler, ast.Try, ast.withitem)
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log", "print"})


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for broad handlers that were not there before, anywhere in the change.

    One that only moved, or says something else in the function where it was, was there.
    """
    now = [(path, *found) for path, pair in context.python.items() for found in _swallowing(pair.new)]
    before: Counter[str] = Counter()
    for pair in context.python.values() if now else ():
        before.update(ast.dump(node) for node, _ in _swallowing(pair.old))
    fresh: list[tuple[str, ast.AST, bool]] = []
    for path, node, says_so in now:
        said = ast.dump(node)
        if before[said] > 0:
            before[said] -= 1
        else:
            fresh.append((path, node, says_so))
    if fresh:
        yield from _beyond_rewording(context, fresh, before)


def _beyond_rewording(
    context: Context, fresh: list[tuple[str, ast.AST, bool]], left: Counter[str]
) -> Iterator[Finding]:
    reworded: Counter[tuple[str, str, str]] = Counter()
    for path in {path for path, _, _ in fresh}:
        for node, function in _with_functions(context.python[path].old):
            if left[ast.dump(node)] > 0:
                left[ast.dump(node)] -= 1
                reworded[path, function, _caught(node)] += 1
    for path in sorted({path for path, _, _ in fresh}):
        where = {id(node): function for node, function in _with_functions(context.python[path].new)}
        for _, node, says_so in (item for item in fresh if item[0] == path):
            key = (path, where[id(node)], _caught(node))
            if reworded[key] > 0:
                reworded[key] -= 1
            else:
                yield _finding(path, node, says_so)


def _with_functions(tree: ast.Module | None) -> list[tuple[ast.AST, str]]:
    """Return what swallows errors in a file, each with the innermost function around it."""
    around: dict[int, str] = {}
    for name, function in sorted(functions_of(tree).items(), key=lambda item: item[0].count(".")):
        around |= {id(node): name for node in nodes_of(function)}
    return [(node, around.get(id(node), "")) for node, _ in _swallowing(tree)]


def _caught(node: ast.AST) -> str:
    """Return which errors are swallowed, and by what kind of statement."""
    kind = node.type if isinstance(node, ast.ExceptHandler) else None
    return type(node).__name__ + (ast.dump(kind) if kind is not None else "")


def _finding(path: str, node: ast.AST, says_so: bool) -> Finding:
    line = getattr(node, "lineno", 0)
    what = "errors of every kind are caught here" + (" and only logged" if says_so else " and dropped")
    if says_so and not is_test_side(path):
        return warning(RULE, path, line, what, _WHY)
    return critical(RULE, path, line, what, _WHY)


def _swallowing(tree: ast.Module | None) -> Iterator[tuple[ast.AST, bool]]:
    """Yield (handler or `with`, whether it at least logs) for each broad one that lets nothing out."""
    for node in of_kinds(tree, *_HANDLING):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and _drops(node.body):
            yield node, any(map(_is_log, node.body))
        elif isinstance(node, ast.Try) and any(
            isinstance(item, ast.Return | ast.Break) for item in node.finalbody
        ):
            yield from ((item, False) for item in node.finalbody if isinstance(item, ast.Return | ast.Break))
        elif isinstance(node, ast.withitem) and dotted(node.context_expr).rsplit(".", 1)[-1] == "suppress":
            call = node.context_expr
            if isinstance(call, ast.Call) and any(dotted(argument) in _BROAD for argument in call.args):
                yield call, False


def _is_broad(kind: ast.expr | None) -> bool:
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(dotted(item) in _BROAD for item in kinds)


def _drops(body: list[ast.stmt]) -> bool:
    """Tell whether a handler does nothing with the error: passes, continues, logs, or returns a constant."""
    return all(_is_idle(statement) or _is_log(statement) for statement in body)


def _is_idle(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass | ast.Continue | ast.Break):
        return True
    if isinstance(statement, ast.Return):
        value = statement.value
        is_empty = isinstance(value, ast.List | ast.Tuple | ast.Set) and not value.elts
        return value is None or isinstance(value, ast.Constant) or is_empty or _is_empty_dict(value)
    if isinstance(statement, ast.Assign):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_empty_dict(value: ast.expr) -> bool:
    return isinstance(value, ast.Dict) and not value.keys


def _is_log(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return dotted(statement.value.func).rsplit(".", 1)[-1] in _LOGS
