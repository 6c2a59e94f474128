"""What every rule is given: the change, what the task is, and both syntax trees of each Python file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from domain.model import Category, Finding, Severity
from harness.guard.change import Change, Delta
from harness.guard.python_code import PythonPair, pair
from harness.testing.paths import is_test_side

LARGEST = 2 * 2**20
"""Bytes; a larger file is not analysed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One change, prepared. `python` has a pair for each changed Python file of reasonable size."""

    change: Change
    category: Category
    issue_text: str
    python: Mapping[str, PythonPair]

    def python_tests(self) -> Iterator[tuple[str, PythonPair]]:
        """Yield changed Python files on the tests' side."""
        return ((path, item) for path, item in self.python.items() if is_test_side(path))

    def python_sources(self) -> Iterator[tuple[str, PythonPair]]:
        """Yield changed Python files that are not tests."""
        return ((path, item) for path, item in self.python.items() if not is_test_side(path))


def prepare(change: Change, category: Category, issue_text: str) -> Context:
    """Parse what can be parsed."""
    python = {
        path: pair(delta.old, delta.new)
        for path, delta in sorted(change.deltas.items())
        if path.endswith((".py", ".pyi", ".pyw")) and not _is_large(delta)
    }
    return Context(change=change, category=category, issue_text=issue_text, python=python)


def _is_large(delta: Delta) -> bool:
    return len(delta.old or b"") > LARGEST or len(delta.new or b"") > LARGEST


def critical(rule: str, path: str, line: int, what: str, why: str) -> Finding:
    """Return a finding that refuses the change."""
    return Finding(rule=rule, path=path, line=line, what=what, why=why, severity=Severity.CRITICAL)


def warning(rule: str, path: str, line: int, what: str, why: str) -> Finding:
    """Return a finding that is shown beside the change."""
    return Finding(rule=rule, path=path, line=line, what=what, why=why, severity=Severity.WARNING)
