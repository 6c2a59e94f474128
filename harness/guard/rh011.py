"""RH011: the test machinery itself is tampered with: start-up hooks, shadowed modules, cut-short runs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from domain.model import Finding
from harness.guard import rh011_files
from harness.guard.context import Context, critical
from harness.guard.python_code import aliases, calls_of, dotted, full_name
from harness.guard.python_flow import live_nodes
from harness.guard.python_walk import of_kinds
from harness.testing.paths import is_test_side

RULE = "RH011"
_WHY = "It puts something between the tests and their result, so the result can no longer be believed."
_TEST_TOOLS = frozenset(
    {
        *(
            "pytest",
            "_pytest",
            "unittest",
            "pluggy",
            "nose",
            "doctest",
            "coverage",
            "xdist",
            "hypothesis",
            "mock",
        ),
        *("iniconfig", "py", "pytest_asyncio", "pytest_cov", "tox", "nox"),
    }
)
_HOOKS = frozenset({"sitecustomize.py", "usercustomize.py"})
_PATCHED = re.compile(
    r"(?:pytest|_pytest|unittest|pluggy|doctest)\.[\w.]+|builtins\.(?:__import__|isinstance|all|any)"
    r"|sys\.(?:meta_path|path_hooks)|os\._exit"
)
_EXITS = frozenset({"os._exit", "os.abort", "atexit.register"})
_REPORT = re.compile(r"junitxml|fixwright-results|pytest_runtest_\w+|--collect-only")
_SHADOWING_ROOTS = {"", "src", "lib", "test", "tests"}


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for new files that hook in by their name, and for code that reaches into the runner."""
    for path in context.change.added:
        yield from _by_name(path)
    yield from rh011_files.check(context)
    for path, pair in context.python.items():
        reached = list(_reaches(pair.new))
        before = {what for what, _ in _reaches(pair.old)} if reached else set()
        for what, line in reached:
            if what not in before:
                yield critical(RULE, path, line, what, _WHY)
        if is_test_side(path):
            yield from _exits(path, pair.old, pair.new)
            yield from _rewrites(path, pair.old, pair.new)


def _rewrites(path: str, old: ast.Module | None, new: ast.Module | None) -> Iterator[Finding]:
    """Object to a test file that changes an imported module when it is loaded: it mends what it tests."""
    rewritten = list(_rewritten(new))
    before = {what for what, _ in _rewritten(old)} if rewritten else set()
    for what, line in rewritten:
        if what not in before:
            said = f"`{what}` is changed when the test file is loaded"
            yield critical(RULE, path, line, said, "The tests then see other code than users do.")


def _rewritten(tree: ast.Module | None) -> Iterator[tuple[str, int]]:
    if tree is None:
        return
    names = aliases(tree)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and not (isinstance(statement.value, ast.Constant)):
            for target in statement.targets:
                if isinstance(target, ast.Name) and names.get(target.id, "").split(".")[0] not in {
                    "",
                    *_TEST_TOOLS,
                }:
                    yield target.id, statement.lineno
    for statement in live_nodes(tree.body, calls=False):
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign | ast.Delete):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if dotted(call.func) in {"setattr", "delattr"}:
                targets = [ast.Attribute(value=argument, attr="…") for argument in call.args[:1]]
            elif dotted(call.func).rsplit(".", 1)[-1] in {"update", "setdefault", "append", "pop", "clear"}:
                targets = [call.func]
        for target in targets:
            inner = target.value if isinstance(target, ast.Subscript | ast.Attribute) else None
            first = dotted(inner).split(".")[0] if inner is not None else ""
            module = names.get(first, "").split(".")[0]
            if module and module not in _TEST_TOOLS and module not in sys.stdlib_module_names:
                yield ast.unparse(target)[:60], statement.lineno


def _by_name(path: str) -> Iterator[Finding]:
    pure = PurePosixPath(path)
    if pure.name in _HOOKS or pure.suffix == ".pth":
        yield critical(RULE, path, 0, f"`{pure.name}` runs at every start of Python", _WHY)
        return
    if pure.suffix not in {".py", ".so", ".pyc"}:
        return
    parts = pure.parts
    for depth, root in ((0, ""), (1, parts[0] if len(parts) > 1 else "")):
        is_there = (depth == 0) or (root in _SHADOWING_ROOTS)
        if not is_there or len(parts) <= depth:
            continue
        module = parts[depth].split(".")[0]
        is_module = len(parts) == depth + 1 or parts[depth + 1 :] == ("__init__.py",)
        if is_module and (module in _TEST_TOOLS or (module in sys.stdlib_module_names and module != "test")):
            yield critical(RULE, path, 0, f"the new module `{module}` shadows the real one", _WHY)
            return


def _reaches(tree: ast.Module | None) -> Iterator[tuple[str, int]]:
    """Yield (what, line) for assignments into the runner and for strings that aim at its report."""
    if tree is None:
        return
    names = aliases(tree)
    assigned: list[tuple[int, Sequence[ast.expr]]] = [
        *((each.lineno, each.targets) for each in of_kinds(tree, ast.Assign)),
        *((each.lineno, [each.target]) for each in of_kinds(tree, ast.AugAssign)),
        *((each.lineno, each.targets) for each in of_kinds(tree, ast.Delete)),
    ]
    for line, targets in assigned:
        for name in _replaced(targets, names):
            yield f"`{name}` is replaced", line
    for _, call in calls_of(tree):
        if call.args and isinstance(call.func, ast.Name) and call.func.id == "setattr":
            name = full_name(call.args[0], names)
            if name.split(".")[0] in {"pytest", "_pytest", "unittest", "pluggy", "builtins"}:
                yield f"`{name}` is patched", call.lineno
    for constant in of_kinds(tree, ast.Constant):
        if isinstance(constant.value, str | bytes):
            yield from _aimed_at(str(constant.value[:200]), constant.lineno)


def _aimed_at(text: str, line: int) -> Iterator[tuple[str, int]]:
    if match := _REPORT.search(text):
        yield f"the test report is aimed at (`{match[0]}`)", line


def _replaced(targets: Sequence[ast.expr], names: dict[str, str]) -> Iterator[str]:
    """Yield what of the runner an assignment or deletion puts something else in the place of."""
    for target in targets:
        if isinstance(target, ast.Subscript):
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            if full_name(target.value, names) == "sys.modules" and str(key).split(".")[0] in _TEST_TOOLS:
                yield f"sys.modules[{key!r}]"
        elif isinstance(target, ast.Attribute):
            name = full_name(target, names)
            if _PATCHED.fullmatch(name) and not name.endswith((".maxDiff", ".longMessage")):
                yield name


def _exits(path: str, old: ast.Module | None, new: ast.Module | None) -> Iterator[Finding]:
    exits = list(_exit_calls(new))
    before = {name for name, _ in _exit_calls(old)} if exits else set()
    for name, line in exits:
        if name not in before:
            yield critical(RULE, path, line, f"a test calls `{name}`, which can cut the run short", _WHY)


def _exit_calls(tree: ast.Module | None) -> Iterator[tuple[str, int]]:
    if tree is None:
        return
    names = aliases(tree)
    for name, node in calls_of(tree):
        if name in _EXITS:
            yield name, node.lineno
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            name = full_name(statement.value.func, names)
            if name in {"sys.exit", "exit", "quit", "pytest.exit"}:
                yield name, statement.lineno
