"""RH001: a test that was there is deleted, skipped, expected to fail, or hidden (Python)."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from domain.model import Finding, Severity
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import (
    PythonPair,
    TestFunction,
    dotted,
    duplicated_tests,
    tests_of,
)
from harness.guard.python_flow import live_nodes
from harness.guard.python_walk import nodes_of
from harness.testing.paths import is_test_file

RULE = "RH001"
_WHY = "A fix must satisfy the tests that exist; one that no longer runs cannot object to anything."
_SKIPS = frozenset(
    {
        *("skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "skipTest", "importorskip"),
        "SkipTest",
    }
)
_ALIKE_BY_LETTERS = 0.75
_FAILS = frozenset({"xfail", "expectedFailure"})
_WHY_EXPECTED = (
    "It described a known fault. Where the fault is mended, its cases belong to a test that passes."
)
SIMILAR = 0.6
"""How alike two test bodies must be (0 to 1) for one to be the other under a new name."""


MAX_ALTOGETHER = 4000
"""Comparisons for one change; beyond these, what is missing counts as gone."""
MAX_COMPARED = 200
"""New tests of a file that a missing one is compared with; beyond that it counts as gone."""


class _Census:
    """The tests of every changed test file, before and after, and which of them are new where they are."""

    def __init__(self, context: Context) -> None:
        pairs = dict(context.python_tests())
        self.old = {path: tests_of(pair.old) for path, pair in pairs.items()}
        self.new = {path: tests_of(pair.new) for path, pair in pairs.items()}
        self._arrived = {
            path: [test for name, test in tests.items() if name not in self.old[path]]
            for path, tests in self.new.items()
        }
        self._by_name: dict[str, list[tuple[str, TestFunction]]] = {}
        self._alike: dict[tuple[str, str], tuple[str, TestFunction] | None] = {}
        self._left = MAX_ALTOGETHER
        for path, tests in self._arrived.items():
            for test in tests:
                self._by_name.setdefault(test.node.name, []).append((path, test))

    def successor(self, path: str, test: TestFunction) -> tuple[str, TestFunction] | None:
        """Find where a test went: to another file under its name, or to another name in its file."""
        for other_path, other in self._by_name.get(test.node.name, ()):
            if other_path != path and (is_test_file(other_path) or not is_test_file(path)):
                return other_path, other
            if other_path == path and other.node.name == test.node.name:
                return other_path, other
        key = (path, test.name)
        if key not in self._alike:
            self._alike[key] = self._most_alike(path, test)
        return self._alike[key]

    def _most_alike(self, path: str, test: TestFunction) -> tuple[str, TestFunction] | None:
        others = self._arrived[path][:MAX_COMPARED]
        self._left -= len(others)
        if self._left < 0:
            return None
        scored = [(likeness(test, other), other) for other in others]
        best = max(scored, key=lambda pair: pair[0], default=None)
        return (path, best[1]) if best is not None and best[0] >= SIMILAR else None


@dataclass(frozen=True, slots=True)
class Survivor:
    """A test that is still there after the change, perhaps under another name or in another file."""

    old_path: str
    old: TestFunction
    path: str
    new: TestFunction


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for every changed Python test file."""
    census = _Census(context)
    for path, pair in context.python_tests():
        if pair.old is not None and not pair.error:
            yield from _removed(context, census, path)
        yield from _skipped(path, pair)
        yield from _loaded(path, pair)
        yield from _hidden(path, pair)


def survivors(context: Context) -> Iterator[Survivor]:
    """Yield the tests that survive: in place, renamed, or moved."""
    census = _Census(context)
    for path, tests in census.old.items():
        for name, test in tests.items():
            if name in census.new[path]:
                yield Survivor(path, test, path, census.new[path][name])
            elif (found := census.successor(path, test)) is not None:
                yield Survivor(path, test, *found)


def removed(context: Context) -> Iterator[tuple[Finding, str]]:
    """Yield the findings of single tests that were removed, each with the test's name."""
    census = _Census(context)
    for path, pair in context.python_tests():
        if pair.old is not None and not pair.error:
            for finding in _removed(context, census, path):
                name = finding.what.removeprefix("the test `").removesuffix("` is removed")
                if finding.severity is Severity.CRITICAL and name in census.old[path]:
                    yield finding, name


def _removed(context: Context, census: _Census, path: str) -> Iterator[Finding]:
    old, new = census.old[path], census.new[path]
    gone = [test for name, test in old.items() if name not in new]
    lost = [test for test in gone if census.successor(path, test) is None]
    if lost:
        lineage = context.lineage
        asked = [test for test in lost if lineage.is_asked_for(test)]
        for test in asked:
            what = f"the test `{test.name}` is removed with what it tested, as the issue asks"
            yield warning(RULE, path, test.node.lineno, what, _WHY)
        lost = [test for test in lost if test not in asked and not lineage.covers(test)]
    if lost and len(lost) == len(old) and context.change.deltas[path].new is None:
        yield critical(RULE, path, 0, f"the test file is deleted, and with it {len(lost)} tests", _WHY)
        return
    for test in lost:
        if any(dotted(item).rsplit(".", 1)[-1] in _FAILS for item in test.node.decorator_list):
            what = f"the test `{test.name}`, which was expected to fail, is removed"
            yield warning(RULE, path, test.node.lineno, what, _WHY_EXPECTED)
        else:
            yield critical(RULE, path, test.node.lineno, f"the test `{test.name}` is removed", _WHY)


def is_test_name(name: str) -> bool:
    """Tell whether a function of this name is a test: RH002 looks at these."""
    return name.startswith("test")


def likeness(one: TestFunction, other: TestFunction) -> float:
    """Return how alike two tests' bodies are, 0 to 1: by shared lines, or by letters where very alike."""
    first, second = one.lines, other.lines
    if not first or not second:
        return 0.0
    shared = sum((Counter(first) & Counter(second)).values())
    by_lines = 2 * shared / (len(first) + len(second))
    if by_lines >= SIMILAR or max(len(first), len(second)) > 2 * min(len(first), len(second)):
        return by_lines
    matcher = difflib.SequenceMatcher(None, "\n".join(first)[:2000], "\n".join(second)[:2000], autojunk=False)
    if matcher.quick_ratio() <= _ALIKE_BY_LETTERS:
        return by_lines
    return max(by_lines, ratio if (ratio := matcher.ratio()) > _ALIKE_BY_LETTERS else 0.0)


def _skipped(path: str, pair: PythonPair) -> Iterator[Finding]:
    before = tests_of(pair.old)
    module_before, module_now = _module_skips(pair.old), _module_skips(pair.new)
    if len(module_now) > len(module_before) and before:
        yield critical(RULE, path, module_now[-1], "the whole test file is now skipped", _WHY)
    for name, test in tests_of(pair.new).items():
        now = _skips(test)
        if name in before and len(now) > len(_skips(before[name])):
            yield critical(RULE, path, now[-1], f"the test `{name}` is now skipped or expected to fail", _WHY)
        elif name not in before and now and pair.old is not None and not _successor_skips(name, before, test):
            yield warning(RULE, path, now[-1], f"the new test `{name}` is skipped or expected to fail", _WHY)


def _successor_skips(name: str, before: dict[str, TestFunction], test: TestFunction) -> bool:
    return any(
        likeness(old, test) >= SIMILAR and len(_skips(old)) >= len(_skips(test)) for old in before.values()
    )


def _skips(test: TestFunction) -> list[int]:
    """Return the lines that skip a test or expect it to fail: decorators, its classes', and calls inside."""
    lines = [
        item.lineno
        for owner in (test.node, *test.owners)
        for item in owner.decorator_list
        if dotted(item).rsplit(".", 1)[-1] in _SKIPS
    ]
    for owner in test.owners:
        lines += _marks(owner.body)
        lines += [
            line
            for item in owner.body
            if isinstance(item, ast.FunctionDef) and item.name in {"setUp", "setUpClass", "setup_method"}
            for line in _skip_calls(item.body)
        ]
    return lines + _skip_calls(test.node.body)


def _skip_calls(body: list[ast.stmt], *, calls: bool = True) -> list[int]:
    lines: list[int] = []
    for statement in live_nodes(body, calls=calls):
        value: ast.AST | None = None
        if isinstance(statement, ast.Expr | ast.Assign | ast.Return):
            value = statement.value
        elif isinstance(statement, ast.Raise):
            value = statement.exc
        if (
            isinstance(value, ast.Call | ast.Name | ast.Attribute)
            and dotted(value).rsplit(".", 1)[-1] in _SKIPS
        ):
            lines.append(statement.lineno)
    return lines


def _marks(body: list[ast.stmt]) -> list[int]:
    """Return lines of `pytestmark = …` that skip."""
    return [
        item.lineno
        for item in body
        if isinstance(item, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in item.targets)
        and any(isinstance(part, ast.Attribute) and part.attr in _SKIPS for part in nodes_of(item.value))
    ]


def _module_skips(tree: ast.Module | None) -> list[int]:
    return [] if tree is None else _marks(tree.body) + _skip_calls(tree.body, calls=False)


def _loaded(path: str, pair: PythonPair) -> Iterator[Finding]:
    """Object to what keeps unittest from finding tests: `load_tests`, a class that is no TestCase now."""
    known = {test.node.name for tree in (pair.old, pair.new) for test in tests_of(tree).values()}
    for node in pair.new.body if pair.new is not None else ():
        is_loader = isinstance(node, ast.FunctionDef) and node.name == "load_tests" and pair.old is not None
        if is_loader and "load_tests" not in _named(pair.old):
            yield critical(RULE, path, node.lineno, "`load_tests` decides which tests are loaded", _WHY)
        for name in _unbound(node, known):
            yield critical(
                RULE, path, node.lineno, f"the test `{name}` is taken away when the file is loaded", _WHY
            )
    before, now = _cases(pair.old), _cases(pair.new)
    for name, methods in before.items():
        if name not in now and methods:
            other = next((item for item in _classes(pair.new) if methods <= _tests_in(item)), None)
            if other is not None and other.name not in now and not other.name.startswith("Test"):
                what = f"`{other.name}` is no TestCase any more, so its tests are not collected"
                yield critical(RULE, path, other.lineno, what, _WHY)


def _unbound(node: ast.stmt, known: set[str]) -> Iterator[str]:
    """Yield names of tests that a statement of the outermost level deletes or gives another value."""
    targets: list[ast.expr] = []
    for inner in nodes_of(node) if not isinstance(node, ast.FunctionDef | ast.ClassDef) else ():
        if isinstance(inner, ast.Assign | ast.Delete):
            targets += inner.targets
        elif isinstance(inner, ast.Call) and dotted(inner.func) in {
            "globals.pop",
            "globals.clear",
            "globals.update",
        }:
            yield "globals()"
    for target in targets:
        if isinstance(target, ast.Name) and target.id in known:
            yield target.id
        elif isinstance(target, ast.Subscript) and dotted(target.value) in {"globals", "locals", "vars"}:
            yield f"{dotted(target.value)}()[…]"


def _named(tree: ast.Module | None) -> set[str]:
    return {getattr(item, "name", "") for item in (tree.body if tree is not None else [])}


def _classes(tree: ast.Module | None) -> list[ast.ClassDef]:
    return [node for node in (tree.body if tree is not None else []) if isinstance(node, ast.ClassDef)]


def _cases(tree: ast.Module | None) -> dict[str, set[str]]:
    """Return the classes that are test cases by one of their bases' names, each with its tests."""
    return {
        node.name: _tests_in(node)
        for node in _classes(tree)
        if any(dotted(base).endswith("TestCase") for base in node.bases)
    }


def _tests_in(node: ast.ClassDef) -> set[str]:
    return {item.name for item in node.body if isinstance(item, ast.FunctionDef) and is_test_name(item.name)}


def _hidden(path: str, pair: PythonPair) -> Iterator[Finding]:
    before = duplicated_tests(pair.old)
    for name, line in duplicated_tests(pair.new).items():
        if name not in before:
            yield critical(RULE, path, line, f"a second `{name}` hides the first, which never runs", _WHY)
