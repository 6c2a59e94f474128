"""RH002: an existing Python test file newly replaces what its tests are about by a stand-in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.assertions import assertions_of
from harness.guard.context import Context, critical
from harness.guard.python_code import TestFunction, dotted, tests_of
from harness.guard.python_walk import nodes_of, of_kinds

RULE = "RH002"
_WHY = "A test that replaces what it tests with a stand-in shows only that the stand-in works."
_PATCHES = re.compile(r"(?:.*\.)?(?:patch|setattr|patch\.object|object|mocker\.patch|spy|stub)")


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for stand-ins in tests that were there, and in what all tests of a file share."""
    for path, pair in context.python_tests():
        if pair.old is None or pair.new is None:
            continue
        fresh = list(_replaced(pair.new))
        before = {name for name, _ in _replaced(pair.old)} if fresh else set()
        fresh = [(name, node) for name, node in fresh if name not in before]
        if not fresh:
            continue
        old, tests = tests_of(pair.old), tests_of(pair.new)
        inside = {id(node): test for test in tests.values() for node in nodes_of(test.node)}
        asserted: set[str] | None = None
        for name, node in fresh:
            test = inside.get(id(node))
            if test is not None and test.name not in old:
                continue
            if test is not None:
                used = _asserted(test)
            else:
                asserted = (
                    {item for each in tests.values() for item in _asserted(each)}
                    if asserted is None
                    else asserted
                )
                used = asserted
            if name.rsplit(".", 1)[-1] in used:
                what = f"`{name}`, which the tests are about, is replaced by a stand-in"
                yield critical(RULE, path, node.lineno, what, _WHY)


def _replaced(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield (what, where) for `patch("a.b")`, `patch.object(a, "b")`, `monkeypatch.setattr(…)`."""
    for node in of_kinds(tree, ast.Call):
        if not node.args or not _PATCHES.fullmatch(dotted(node.func)):
            continue
        texts = [
            item.value
            for item in node.args[:2]
            if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        if texts:
            yield texts[0], node


def _asserted(test: TestFunction) -> set[str]:
    """Return the names that a test's assertions call."""
    return {
        dotted(node.func).rsplit(".", 1)[-1]
        for item in assertions_of(test)
        for node in nodes_of(item.node)
        if isinstance(node, ast.Call)
    }
