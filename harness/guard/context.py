"""What every rule is given: the change, what the task is, and each changed file as its language reads it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from domain.model import Category, Finding, Severity
from harness.guard.change import Change, Delta
from harness.guard.python_code import PythonPair, functions_of, pair
from harness.guard.python_walk import of_kinds
from harness.guard.syntax.files import SyntaxFile, syntax_files
from harness.guard.syntax.model import Kind
from harness.guard.syntax.pairing import Tests, paired
from harness.testing.paths import is_test_side

if TYPE_CHECKING:
    from harness.guard.lineage import Lineage

LARGEST = 2 * 2**20
"""Bytes; a larger file is not analysed."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """One change, prepared. `python` has a pair for each changed Python file of reasonable size.

    `files` are those in the other languages with a grammar here.
    """

    change: Change
    category: Category
    issue_text: str
    python: Mapping[str, PythonPair]
    files: tuple[SyntaxFile, ...] = ()

    def python_tests(self) -> Iterator[tuple[str, PythonPair]]:
        """Yield changed Python files on the tests' side."""
        return ((path, item) for path, item in self.python.items() if is_test_side(path))

    def python_sources(self) -> Iterator[tuple[str, PythonPair]]:
        """Yield changed Python files that are not tests."""
        return ((path, item) for path, item in self.python.items() if not is_test_side(path))

    def lines(self, path: str, *, old: bool) -> list[bytes]:
        """Return the lines of one side of a file."""
        key = (path, old)
        if key not in self._lines:
            delta = self.change.deltas[path]
            self._lines[key] = ((delta.old if old else delta.new) or b"").split(b"\n")
        return self._lines[key]

    @cached_property
    def _lines(self) -> dict[tuple[str, bool], list[bytes]]:
        return {}

    @cached_property
    def tests(self) -> Tests:
        """The changed tests in languages other than Python, before and after."""
        return paired(self.files)

    @cached_property
    def lineage(self) -> Lineage:
        """Where assertions of Python tests went."""
        from harness.guard.lineage import Lineage  # it reads a context itself

        return Lineage(self)

    @cached_property
    def removed(self) -> frozenset[str]:
        """Names of functions and classes of the sources that are nowhere in the change any more."""
        gone = {name for file in self.files for name in _defined(file, old=True)}
        came = {name for file in self.files for name in _defined(file, old=False)}
        for _, item in self.python_sources():
            gone |= _defined_in_python(item.old)
            came |= _defined_in_python(item.new)
        return frozenset(name for name in gone - came if len(name) > 2)

    @cached_property
    def new_test_literals(self) -> frozenset[str]:
        """Literals, as Python writes them, that the change brings into tests of any language."""
        now: Counter[str] = Counter()
        for _, item in self.python_tests():
            now.update(python_literals(item.new))
            now.subtract(python_literals(item.old))
        for file in self.files:
            for view in file.came:
                if view.unit.in_tests:
                    now.update(view.literals)
            for view in file.gone:
                if view.unit.in_tests:
                    now.subtract(view.literals)
        return frozenset(value for value, count in now.items() if count > 0)


def prepare(
    change: Change, category: Category, issue_text: str, *, whole: Collection[str] | None = None
) -> Context:
    """Parse what can be parsed; of Python files other than those in `whole` (None for all) what differs."""
    python = {
        path: pair(delta.old, delta.new, whole=whole is None or path in whole, in_tests=is_test_side(path))
        for path, delta in sorted(change.deltas.items())
        if path.endswith((".py", ".pyi", ".pyw")) and not _is_large(delta)
    }
    return Context(
        change=change, category=category, issue_text=issue_text, python=python, files=syntax_files(change)
    )


def python_literals(tree: ast.Module | None) -> Iterator[str]:
    """Yield every text and number of a Python file, as written there."""
    for node in of_kinds(tree, ast.Constant):
        if isinstance(node.value, str | bytes | int | float):
            yield repr(node.value)


def _is_large(delta: Delta) -> bool:
    return len(delta.old or b"") > LARGEST or len(delta.new or b"") > LARGEST


def _defined(file: SyntaxFile, *, old: bool) -> set[str]:
    views = file.gone if old else file.came
    return {
        view.unit.short.rsplit(".", 1)[-1]
        for view in views
        if view.unit.kind is Kind.FUNCTION and not view.unit.in_tests
    }


def _defined_in_python(tree: ast.Module | None) -> set[str]:
    names = {name.rsplit(".", 1)[-1] for name in functions_of(tree)}
    classes = {node.name for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef)}
    return names | classes


def critical(rule: str, path: str, line: int, what: str, why: str) -> Finding:
    """Return a finding that refuses the change."""
    return Finding(rule=rule, path=path, line=line, what=what, why=why, severity=Severity.CRITICAL)


def warning(rule: str, path: str, line: int, what: str, why: str) -> Finding:
    """Return a finding that is shown beside the change."""
    return Finding(rule=rule, path=path, line=line, what=what, why=why, severity=Severity.WARNING)
