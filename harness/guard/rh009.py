"""RH009: source that notices being tested and behaves differently."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical
from harness.guard.python_code import dotted, tests_of
from harness.guard.python_walk import nodes_of, of_kinds
from harness.guard.syntax.grammar import language_of
from harness.testing.paths import is_source, is_test_side

RULE = "RH009"
_WHY = "Code that knows it is being tested can pass every test and still be wrong for users."
_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "py.test", "doctest", "conftest"})
_VARIABLES = re.compile(r"PYTEST_\w+|TOX_ENV\w*|NOSE_\w+|JEST_WORKER_ID|VITEST\w*|_called_from_test")
_TEXTUAL = re.compile(r"PHPUNIT_\w+|\bXUNIT_\w+|kotlin\.test\.")
"""For languages without a grammar here."""
_TESTS = re.compile(rb"\bdef (test[A-Za-z0-9_]+)")
_NAMES = frozenset({"__file__", "__name__", "co_name", "f_code.co_name", "co_filename"})


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for signs of test detection that the sources did not have before, here or elsewhere."""
    sources = list(context.python_sources())
    names = _test_names(context) if sources else frozenset()
    now = [(path, *sign) for path, pair in sources for sign in _signs(pair.new, names)]
    before: Counter[str] = Counter()
    for _, pair in sources if now else ():
        before.update(what for what, _ in _signs(pair.old, names))
    for path, what, line in now:
        if before[what] > 0:
            before[what] -= 1
        else:
            yield critical(RULE, path, line, f"source looks for tests: {what}", _WHY)
    for path, delta in context.change.deltas.items():
        if (
            path in context.python
            or language_of(path) is not None
            or delta.is_binary
            or is_test_side(path)
            or not is_source(path)
        ):
            continue
        known = set(_TEXTUAL.findall(delta.old_text))
        for match in _TEXTUAL.finditer(delta.new_text):
            if match[0] not in known:
                line = delta.new_text.count("\n", 0, match.start()) + 1
                yield critical(RULE, path, line, f"source looks for tests: `{match[0]}`", _WHY)


def _test_names(context: Context) -> frozenset[str]:
    """Return names of tests and test files of the change that are long enough to be no accident."""
    names: set[str] = set()
    for path, pair in context.python_tests():
        for tree in (pair.old, pair.new):
            names |= {test.node.name for test in tests_of(tree).values()}
        delta = context.change.deltas[path]
        names |= {found.decode() for found in _TESTS.findall((delta.old or b"") + (delta.new or b""))}
        names |= {path, path.rsplit("/", 1)[-1], path.rsplit("/", 1)[-1].removesuffix(".py")}
    return frozenset(name for name in names if len(name) > 6 and name != "conftest")


def _signs(tree: ast.Module | None, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    documentation: set[int] | None = None
    for node in of_kinds(tree, ast.Constant):
        value = node.value
        if not isinstance(value, str) or not (value in names or _VARIABLES.fullmatch(value)):
            continue
        documentation = _docstrings(tree) if documentation is None else documentation
        if id(node) not in documentation:
            kind = "variable" if _VARIABLES.fullmatch(value) else "name"
            yield f"the {kind} `{value}`", node.lineno
    branches: list[ast.If | ast.IfExp | ast.While] = [
        *of_kinds(tree, ast.If),
        *of_kinds(tree, ast.IfExp),
        *of_kinds(tree, ast.While),
    ]
    for branch in branches:
        if _asks_modules(branch.test):
            yield "a test runner in `sys.modules`", branch.lineno
    for comparison in of_kinds(tree, ast.Compare):
        yield from _comparison(comparison)
    for call in of_kinds(tree, ast.Call):
        yield from _call(call)


def _comparison(node: ast.Compare) -> Iterator[tuple[str, int]]:
    sides = [node.left, *node.comparators]
    places = {dotted(part) for side in sides for part in nodes_of(side) if isinstance(part, ast.expr)}
    words = {part.value for side in sides for part in nodes_of(side) if isinstance(part, ast.Constant)}
    texts = {word for word in words if isinstance(word, str)}
    if "sys.modules" in places and texts & _RUNNERS:
        yield "a test runner in `sys.modules`", node.lineno
    elif places & {
        "sys.argv",
        "sys._getframe",
        "inspect.stack",
        "inspect.currentframe",
        "traceback.extract_stack",
    }:
        if any("test" in text for text in texts):
            yield "tests in the call stack or command line", node.lineno
    elif places & _NAMES and any("test" in text and text != "__test__" for text in texts):
        yield "the caller's name", node.lineno


def _call(node: ast.Call) -> Iterator[tuple[str, int]]:
    name = dotted(node.func)
    first = node.args[0] if node.args else None
    if name.startswith("sys.modules.") and isinstance(first, ast.Constant) and first.value in _RUNNERS:
        yield "a test runner in `sys.modules`", node.lineno
    elif name.endswith(("startswith", "endswith")) and isinstance(first, ast.Constant):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if isinstance(first.value, str) and first.value.startswith("test") and _is_about_frames(inner):
            yield "the caller's name", node.lineno


def _is_about_frames(node: ast.expr) -> bool:
    return bool(re.search(r"co_name|co_filename|f_code|\.function\b|__module__|stack\(", ast.unparse(node)))


def _docstrings(tree: ast.Module | None) -> set[int]:
    found = set()
    for node in nodes_of(tree) if tree is not None else ():
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            found.add(id(body[0].value))
    return found


def _asks_modules(test: ast.expr) -> bool:
    """Tell whether a condition goes through the loaded modules for a runner's name, in whatever way."""
    parts = list(nodes_of(test))
    texts = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    has_modules = any(isinstance(part, ast.Attribute) and part.attr == "modules" for part in parts)
    return has_modules and any(text.split(".")[0].rstrip("_") in _RUNNERS for text in texts)
