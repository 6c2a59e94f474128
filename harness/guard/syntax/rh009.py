"""RH009 by syntax: source that knows the tests: their names, their inputs, their answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from tree_sitter import Node

from domain.model import Finding
from harness.guard.by_heart import is_everyday, is_telling
from harness.guard.context import Context, critical
from harness.guard.syntax.dialect import Dialect
from harness.guard.syntax.files import SyntaxFile, is_others
from harness.guard.syntax.model import Kind
from harness.guard.syntax.nodes import COMMENTS, line_of, literals, walk
from harness.guard.syntax.view import View

RULE = "RH009"
_WHY_NAME = "Code that knows it is being tested can pass every test and still be wrong for users."
_WHY_HEART = "It answers the one input that a test uses, and leaves the fault as it is for every other."
_NAMED = re.compile(r"\s|^[tT]est[_A-Z]")
"""Titles of one word are words of the program's field, too."""
_RETURNS = frozenset({"return_statement", "return", "return_expression"})


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for what sources have more of than before."""
    names, fresh = _test_names(context), context.new_test_literals
    telling = frozenset(value for value in fresh if is_telling(value))
    gone = [(file, view) for file in context.files for view in file.gone if not view.unit.in_tests]
    before = Counter(value for _, view in gone for value, _ in view.compared)
    known = Counter(value for _, view in gone for value in view.literals.elements())
    answered = {answer[0] for file, view in gone for answer in _answers(view, file.dialect)}
    for file in context.files:
        if is_others(file.delta):
            continue
        for view in file.came:
            if view.unit.in_tests:
                continue
            yield from _named(file, view, names, known)
            yield from _compared(file, view, telling, before)
            yield from _answered(file, view, fresh, answered)


def _test_names(context: Context) -> frozenset[str]:
    """Return titles of tests and names of test files of the change that are no accident."""
    found: set[str] = set()
    for file in context.files:
        views = [view for view in (*file.gone, *file.came) if view.unit.kind is Kind.TEST]
        found |= {view.unit.short for view in views if _NAMED.search(view.unit.short)}
        if file.in_tests:
            name = PurePosixPath(file.path).name
            found |= {file.path, name, name.split(".")[0]}
    return frozenset(
        repr(name) for name in found if len(name) > 6 and name not in {"helpers", "fixtures", "support"}
    )


def _named(file: SyntaxFile, view: View, names: frozenset[str], known: Counter[str]) -> Iterator[Finding]:
    for value, place in sorted(view.placed):
        if value in names and known[value] == 0:
            line = (view.unit.node.text or b"").count(
                b"\n", 0, place - view.unit.node.start_byte
            ) + view.unit.line
            yield critical(RULE, file.path, line, f"source looks for tests: the name {value[:60]}", _WHY_NAME)


def _compared(
    file: SyntaxFile, view: View, telling: frozenset[str], before: Counter[str]
) -> Iterator[Finding]:
    for value, line in view.compared:
        if before[value] > 0:
            before[value] -= 1
        elif value in telling:
            what = f"source looks for a test's own input, {value[:60]}"
            yield critical(RULE, file.path, line, what, _WHY_HEART)


def _answered(
    file: SyntaxFile, view: View, fresh: frozenset[str], known: set[tuple[tuple[str, ...], tuple[str, ...]]]
) -> Iterator[Finding]:
    """Object to `if (x === 5) return 10`, both from the new tests."""
    for pair, line in _answers(view, file.dialect):
        asked, given = pair
        if pair in known or not asked or not given:
            continue
        every = [*asked, *given]
        if all(value in fresh for value in every) and not all(map(is_everyday, asked)):
            what = f"source answers {', '.join(asked)[:40]} with {', '.join(given)[:40]}, as a test expects"
            yield critical(RULE, file.path, line, what, _WHY_HEART)


def _answers(view: View, dialect: Dialect) -> Iterator[tuple[tuple[tuple[str, ...], tuple[str, ...]], int]]:
    """Yield (literals asked for, literals answered) of conditions that only return a constant."""
    if view.unit.in_tests or not view.compared:
        return
    for node in walk(view.unit.node):
        if node.type not in {*dialect.branches, "if_modifier", "conditional"}:
            continue
        condition = node.child_by_field_name("condition")
        answer = node.child_by_field_name("consequence") or node.child_by_field_name("body")
        if condition is None or answer is None:
            continue
        given = _only_return(answer, is_value=node.type in {"ternary_expression", "conditional"})
        if given is None:
            continue
        asked = tuple(value for value, _ in literals(condition))
        yield (asked, tuple(value for value, _ in literals(given))), line_of(node)


def _only_return(node: Node, *, is_value: bool) -> Node | None:
    """Return what a branch gives back, if that is all that it does."""
    while node.type not in _RETURNS:
        inside = [child for child in node.named_children if child.type not in COMMENTS]
        if len(inside) != 1:
            return node if is_value else None
        node = inside[0]
    return node
