"""RH008: files that decide which tests run, and how, or what the service itself may do."""

from __future__ import annotations

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from domain.model import Finding
from harness.guard.change import Delta
from harness.guard.context import Context, critical, warning
from harness.testing.paths import is_test_configuration

RULE = "RH008"
_WHY = "It changes which tests run or how they are judged, so the same suite no longer says the same."
_PROTECTED = re.compile(
    r"\.github/(?:workflows|actions)/.*|\.gitlab-ci\.yml|\.gitea/workflows/.*|\.forgejo/workflows/.*|\.circleci/.*"
    r"|\.fixwright\.yml|(?:\.github/|docs/)?CODEOWNERS|\.travis\.yml|azure-pipelines\.yml|Jenkinsfile",
    re.IGNORECASE,
)
_TEST_TABLES = ("jest", "mocha", "ava", "nyc", "vitest", "c8", "tap")
_INI_CRITICAL = re.compile(r"pytest|tool:pytest|nosetests|unittest|aliases")
_INI_WARNING = re.compile(r"testenv.*|tox|coverage.*|tool:coverage.*")


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for changed test configuration and protected files."""
    for path in context.change.paths:
        delta = context.change.deltas[path]
        if _PROTECTED.fullmatch(path) and path in context.change.allowed:
            yield warning(RULE, path, 0, "a protected file is changed", "A maintainer allowed exactly this.")
        elif _PROTECTED.fullmatch(path):
            yield critical(RULE, path, 0, "a protected file is changed", "Only people may change this file.")
        elif is_test_configuration(path):
            yield from _configuration(delta, context)


def _configuration(delta: Delta, context: Context) -> Iterator[Finding]:
    name = PurePosixPath(delta.path).name
    if name == "conftest.py":
        yield from _conftest(delta, context)
    elif name in {"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"}:
        yield from _ini(delta)
    elif name == "pyproject.toml":
        yield from _pyproject(delta)
    elif name == "package.json":
        yield from _package(delta)
    elif name.lower() in {"makefile", "gnumakefile"}:
        is_of_docs = not {"doc", "docs"}.isdisjoint(PurePosixPath(delta.path).parts)
        if not is_of_docs and _test_recipe(delta.old_text) != _test_recipe(delta.new_text):
            yield critical(RULE, delta.path, 0, "the recipe that runs the tests is changed", _WHY)
    elif name in {"noxfile.py", ".coveragerc", "babel.config.js", ".babelrc"} or name.startswith(
        "vite.config"
    ):
        yield warning(RULE, delta.path, 0, "a file that takes part in testing is changed", _WHY)
    else:
        yield critical(RULE, delta.path, 0, "the test runner's configuration is changed", _WHY)


def _conftest(delta: Delta, context: Context) -> Iterator[Finding]:
    if delta.new is None:
        moved = any(
            path.endswith("conftest.py") and other.new == delta.old
            for path, other in context.change.deltas.items()
            if other.old is None
        )
        if not moved:
            yield critical(RULE, delta.path, 0, "a conftest.py is deleted", _WHY)
        return
    pair = context.python.get(delta.path)
    before, now = _powers(pair.old if pair else None), _powers(pair.new if pair else None)
    powers = [name for name in now if name not in before or now[name][0] != before[name][0]]
    for name in powers:
        yield critical(RULE, delta.path, now[name][1], f"conftest.py: `{name}` is added or changed", _WHY)
    for name in before:
        if name not in now:
            yield critical(RULE, delta.path, 0, f"conftest.py: `{name}` is removed", _WHY)
    if not powers and pair is not None and pair.new is not None:
        yield warning(RULE, delta.path, 0, "conftest.py is changed: every test may lean on it", _WHY)


def _powers(tree: ast.Module | None) -> dict[str, tuple[str, int]]:
    """Return what in a conftest.py can change which tests run or how: name → (dump, line)."""
    found: dict[str, tuple[str, int]] = {}
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if node.name.startswith("pytest_") or "hookimpl" in decorators or "autouse=True" in decorators:
                found[node.name] = (ast.dump(node), node.lineno)
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            for name in names:
                if name in {"collect_ignore", "collect_ignore_glob", "pytest_plugins"}:
                    found[name] = (ast.dump(node), node.lineno)
            if not names:
                found[ast.unparse(node.targets[0])] = (ast.dump(node), node.lineno)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found[ast.unparse(node.value.func)] = (ast.dump(node), node.lineno)
        elif isinstance(node, ast.If | ast.Try | ast.For | ast.With | ast.While):
            found[f"module-level {type(node).__name__.lower()}"] = (ast.dump(node), node.lineno)
    return found


def _ini(delta: Delta) -> Iterator[Finding]:
    try:
        before, now = _sections(delta.old_text), _sections(delta.new_text)
    except configparser.Error as error:
        yield critical(RULE, delta.path, 0, f"it cannot be read as configuration: {error.message[:80]}", _WHY)
        return
    for section in sorted({*before, *now}):
        if before.get(section) == now.get(section):
            continue
        if _INI_CRITICAL.fullmatch(section) or delta.path.endswith("pytest.ini"):
            yield critical(RULE, delta.path, 0, f"the section [{section}] is changed", _WHY)
        elif _INI_WARNING.fullmatch(section):
            yield warning(RULE, delta.path, 0, f"the section [{section}] is changed", _WHY)
        elif "pytest11" in (now.get(section) or {}).get("pytest11", "pytest11") and section.endswith(
            "entry_points"
        ):
            yield critical(RULE, delta.path, 0, "entry points of a pytest plugin are changed", _WHY)
    if delta.path.endswith("pytest.ini") and not (before or now):
        yield critical(RULE, delta.path, 0, "an empty pytest.ini moves pytest's root", _WHY)


def _sections(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _pyproject(delta: Delta) -> Iterator[Finding]:
    before, now = _toml(delta.old_text), _toml(delta.new_text)
    if before is None or now is None:
        return
    tool_before, tool_now = before.get("tool", {}), now.get("tool", {})
    for name in ("pytest", "tox", "hatch", "coverage", "nox"):
        if tool_before.get(name) != tool_now.get(name):
            make = critical if name == "pytest" else warning
            yield make(RULE, delta.path, 0, f"the table [tool.{name}] is changed", _WHY)
    points = [side.get("project", {}).get("entry-points", {}).get("pytest11") for side in (before, now)]
    if points[0] != points[1]:
        yield critical(RULE, delta.path, 0, "entry points of a pytest plugin are changed", _WHY)


def _toml(text: str) -> dict[str, dict[str, dict[str, dict[str, object]]]] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _package(delta: Delta) -> Iterator[Finding]:
    try:
        before, now = json.loads(delta.old_text or "{}"), json.loads(delta.new_text or "{}")
        scripts = [
            {name: text for name, text in (side.get("scripts") or {}).items() if "test" in name}
            for side in (before, now)
        ]
    except (ValueError, AttributeError, RecursionError):
        yield critical(RULE, delta.path, 0, "package.json cannot be compared", _WHY)
        return
    if scripts[0] != scripts[1]:
        yield critical(RULE, delta.path, 0, "a test script of package.json is changed", _WHY)
    for table in _TEST_TABLES:
        if before.get(table) != now.get(table):
            yield critical(RULE, delta.path, 0, f"package.json: `{table}` is changed", _WHY)


def _test_recipe(text: str) -> list[str]:
    return re.findall(
        r"^(?:[\w-]*test[\w-]*|check)[ \t]*::?(?!=)[^\n]*\n(?:\t[^\n]*\n?)*", text + "\n", re.MULTILINE
    )
