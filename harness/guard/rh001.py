"""RH001: a test that was there is deleted, skipped, expected to fail, or hidden (Python)."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import (
    PythonPair,
    TestFunction,
    dotted,
    duplicated_tests,
    live_nodes,
    tests_of,
)

RULE = "RH001"
_WHY = "A fix must satisfy the tests that exist; one that no longer runs cannot object to anything."
_SKIPS = frozenset(
    {
        *("skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "skipTest", "importorskip"),
        "SkipTest",
    }
)
SIMILAR = 0.6
"""How alike two test bodies must be (0 to 1) for one to be the other under a new name."""


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for every changed Python test file."""
    for path, pair in context.python_tests():
        if pair.old is not None and not pair.error:
            yield from _removed(context, path, pair)
        yield from _skipped(path, pair)
        yield from _hidden(path, pair)


def matched_tests(context: Context) -> Iterator[tuple[str, TestFunction, TestFunction]]:
    """Yield (new path, old test, new test) for tests that survive: in place, renamed, or moved."""
    for path, pair in context.python_tests():
        new = tests_of(pair.new)
        for name, test in tests_of(pair.old).items():
            if name in new:
                yield path, test, new[name]
            elif (found := _successor(context, path, pair, test)) is not None:
                yield found


def _removed(context: Context, path: str, pair: PythonPair) -> Iterator[Finding]:
    new = tests_of(pair.new)
    old = tests_of(pair.old)
    gone = [test for name, test in old.items() if name not in new]
    lost = [test for test in gone if _successor(context, path, pair, test) is None]
    if lost and len(lost) == len(old) and context.change.deltas[path].new is None:
        yield critical(RULE, path, 0, f"the test file is deleted, and with it {len(lost)} tests", _WHY)
        return
    for test in lost:
        yield critical(RULE, path, test.node.lineno, f"the test `{test.name}` is removed", _WHY)


def _successor(
    context: Context, path: str, pair: PythonPair, test: TestFunction
) -> tuple[str, TestFunction, TestFunction] | None:
    """Find where a test went: to another file under its name, or to another name in its file."""
    for other_path, other in context.python_tests():
        arrived = {
            name: item for name, item in tests_of(other.new).items() if name not in tests_of(other.old)
        }
        same_name = [item for item in arrived.values() if item.node.name == test.node.name]
        if other_path != path and same_name:
            return other_path, test, same_name[0]
        if other_path == path:
            alike = [item for item in arrived.values() if likeness(test, item) >= SIMILAR]
            if alike:
                return path, test, max(alike, key=lambda item: likeness(test, item))
    return None


def likeness(one: TestFunction, other: TestFunction) -> float:
    """Return how alike two tests' bodies are, 0 to 1."""
    texts = [
        [line for node in test.node.body for line in ast.unparse(node).splitlines()] for test in (one, other)
    ]
    by_lines = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False).ratio()
    by_letters = difflib.SequenceMatcher(
        None, "\n".join(texts[0])[:4000], "\n".join(texts[1])[:4000], autojunk=False
    ).ratio()
    return max(by_lines, by_letters if by_letters > 0.75 else 0.0)


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


def _skip_calls(body: list[ast.stmt]) -> list[int]:
    lines: list[int] = []
    for statement in live_nodes(body):
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
        and any(isinstance(part, ast.Attribute) and part.attr in _SKIPS for part in ast.walk(item.value))
    ]


def _module_skips(tree: ast.Module | None) -> list[int]:
    return [] if tree is None else _marks(tree.body) + _skip_calls(tree.body)


def _hidden(path: str, pair: PythonPair) -> Iterator[Finding]:
    before = duplicated_tests(pair.old)
    for name, line in duplicated_tests(pair.new).items():
        if name not in before:
            yield critical(RULE, path, line, f"a second `{name}` hides the first, which never runs", _WHY)
