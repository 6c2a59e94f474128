"""Where assertions went of Python tests that are gone, or make fewer: to other tests, helpers, or a table."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from harness.guard.assertions import all_literals, assertions_of, expected_literals
from harness.guard.context import Context
from harness.guard.python_code import Function, TestFunction, dotted, functions_of, own_lines, tests_of
from harness.guard.python_flow import goes_through
from harness.guard.python_walk import nodes_of
from harness.testing.paths import is_test_file

_REMOVAL = re.compile(r"(?i)\b(?:remov|delet|drop|dead|unused|obsolete|get rid)")

MOST_TABLES, MOST_LOST = 50, 200
"""Tables that missing tests are looked for in, and missing tests that are looked for."""


class Lineage:
    """What the changed Python tests of a change have gained: assertions, literals, tables."""

    def __init__(self, context: Context) -> None:
        """Read every changed test file once."""
        self._context = context
        self.surplus: Counter[str] = Counter()
        self.literals: Counter[str] = Counter()
        self.grown: list[TestFunction] = []
        self._called: set[str] = set()
        self._left = MOST_LOST
        for path, pair in sorted(context.python_tests(), key=lambda item: not is_test_file(item[0])):
            self._read(path, pair.old, pair.new)

    def _read(self, path: str, old: ast.Module | None, new: ast.Module | None) -> None:
        before = tests_of(old)
        now = {
            name: test
            for name, test in (tests_of(new) if is_test_file(path) else {}).items()
            if name not in before or not self._is_same(path, before[name], test)
        }
        for name, test in now.items():
            mine = _dumps(test)
            if name in before:
                if is_table(test) and not is_table(before[name]):
                    self.grown.append(test)
                self.surplus.update(mine - _dumps(before[name]))
            else:
                self.grown.append(test)
                self.surplus.update(mine)
                self.literals.update(all_literals(test, None))
        known = functions_of(old)
        self._called |= {name for test in now.values() for name in _called(test.node)}
        for name, function in functions_of(new).items():
            if name not in known and function.name in self._called and not function.name.startswith("test"):
                helper = TestFunction(name, function, ())
                self.surplus.update(_dumps(helper))
                self.literals.update(all_literals(helper, None))

    def _is_same(self, path: str, old: TestFunction, new: TestFunction) -> bool:
        sides = self._context.lines(path, old=True), self._context.lines(path, old=False)
        return own_lines(old, sides[0]) == own_lines(new, sides[1])

    def covers(self, test: TestFunction) -> bool:
        """Tell whether all that a lost test asserted is asserted elsewhere now; each may be used once."""
        needed = _dumps(test)
        if needed and needed <= self.surplus:
            self.surplus -= needed
            return True
        self._left -= 1
        return self._left >= 0 and any(_is_row(test, table) for table in self._tables)

    @cached_property
    def _tables(self) -> list[TestFunction]:
        return [test for test in self.grown if is_table(test)][:MOST_TABLES]

    def is_asked_for(self, test: TestFunction) -> bool:
        """Tell whether the issue asks to remove what a test was about, and the change does so."""
        text = self._context.issue_text
        if not _REMOVAL.search(text):
            return False
        words = set(re.findall(r"\w+", text)) & self._context.removed
        return any(
            isinstance(node, ast.Name | ast.Attribute) and _last(node) in words
            for node in nodes_of(test.node)
        )


def is_table(test: TestFunction) -> bool:
    """Tell whether a test goes through cases: by a decorator, a loop, or subtests."""
    marks = [dotted(item) for owner in (test.node, *test.owners) for item in owner.decorator_list]
    if any("parametri" in mark or mark.endswith(("given", "expand", "data", "cases")) for mark in marks):
        return True
    return any(
        isinstance(node, ast.For | ast.AsyncFor) and goes_through(node) for node in nodes_of(test.node)
    )


def _is_row(test: TestFunction, table: TestFunction) -> bool:
    """Tell whether a table has all that a test expected, and calls what it called."""
    expected = expected_literals(test, None)
    before, now = assertions_of(test), assertions_of(table)
    if (
        not expected
        or not now
        or max(item.strictness for item in now) < max((item.strictness for item in before), default=0)
    ):
        return False
    return not expected - all_literals(table, None) and set(_called(test.node)) <= set(_called(table.node))


def _called(node: Function) -> Iterator[str]:
    """Yield the names of what a test calls, apart from the ways to assert."""
    for item in nodes_of(node):
        if isinstance(item, ast.Call):
            name = dotted(item.func).rsplit(".", 1)[-1]
            if not re.fullmatch(r"assert\w*|raises|warns|parametrize|approx|subTest|param", name):
                yield name


def _dumps(test: TestFunction) -> Counter[str]:
    return Counter(item.dump for item in assertions_of(test))


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
