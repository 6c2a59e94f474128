"""RH009: source that knows the inputs of the new tests by heart (Python)."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.by_heart import is_everyday, is_telling
from harness.guard.context import Context, critical
from harness.guard.python_code import dotted
from harness.guard.python_walk import nodes_of, of_kinds

RULE = "RH009"
_WHY = "It answers the one input that a test uses, and leaves the fault as it is for every other."
_DECIDING: tuple[type[ast.AST], ...] = (ast.Compare, ast.Dict, ast.MatchValue, ast.Call)
_MATCHING = frozenset(
    {*("startswith", "endswith", "replace", "get", "find", "index", "count", "fullmatch", "match", "search")}
)


def check(context: Context) -> Iterator[Finding]:
    """Yield findings where new source compares with literals that only the new tests have."""
    literals = context.new_test_literals
    if not literals:
        return
    telling = frozenset(value for value in literals if is_telling(value))
    before: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for _, pair in context.python_sources():
        before.update(value for value, _ in _compared(pair.old))
        answered.update(map(ast.dump, _short_ways(pair.old)))
    for path, pair in context.python_sources():
        for value, line in _compared(pair.new):
            if before[value] > 0:
                before[value] -= 1
            elif value in telling:
                yield critical(RULE, path, line, f"source looks for a test's own input, {value[:60]}", _WHY)
        yield from _answers(path, pair.new, answered, literals)


def _compared(tree: ast.Module | None) -> Iterator[tuple[str, int]]:
    """Yield literals that decide something: in comparisons, as keys, in patterns, in searches."""
    for node in of_kinds(tree, *_DECIDING):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Call) and dotted(node.func).rsplit(".", 1)[-1] in _MATCHING:
            parts = list(node.args)
        for part in parts:
            for item in part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]:
                if isinstance(item, ast.Constant):
                    yield repr(item.value), node.lineno if isinstance(node, ast.expr) else item.lineno


def _answers(
    path: str, new: ast.Module | None, before: Counter[str], literals: frozenset[str]
) -> Iterator[Finding]:
    """Yield findings for `if x == 5: return 10` where both literals came with the tests.

    `before` counts those that were there, anywhere in the change.
    """
    for node in _short_ways(new):
        if before[ast.dump(node)] > 0:
            before[ast.dump(node)] -= 1
            continue
        asked = [value for value, _ in _compared(ast.Module([ast.Expr(node.test)], []))]
        answer = node.body[-1].value if isinstance(node.body[-1], ast.Return) else None
        given = (
            [repr(part.value) for part in nodes_of(answer) if isinstance(part, ast.Constant)]
            if answer
            else []
        )
        if _are_all_in([*asked], literals) and _are_all_in(given, literals):
            what = f"source answers {', '.join(asked)[:40]} with {', '.join(given)[:40]}, as a test expects"
            yield critical(RULE, path, node.lineno, what, _WHY)


def _short_ways(tree: ast.Module | None) -> Iterator[ast.If]:
    for node in of_kinds(tree, ast.If):
        if len(node.body) == 1 and isinstance(node.body[0], ast.Return):
            yield node


def _are_all_in(values: list[str], literals: frozenset[str]) -> bool:
    """Tell whether there are literals, all of them came with the tests, and they are no everyday values."""
    return bool(values) and all(value in literals for value in values) and not all(map(is_everyday, values))
