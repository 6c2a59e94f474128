"""Python sources as trees: parsing that never raises, tests by name, assertions, literals, import aliases."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from functools import cached_property

from harness.guard.python_flow import truth
from harness.guard.python_parts import parsed_parts
from harness.guard.python_walk import nodes_of, of_kinds

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class PythonPair:
    """A Python file before and after; None where there is no such side or it does not parse."""

    old: ast.Module | None
    new: ast.Module | None
    error: str = ""
    error_line: int = 0
    is_part: bool = False
    """Whether the trees hold only what differs, and the imports."""


@dataclass(frozen=True)
class TestFunction:
    """A test as a runner would collect it. `owners` are the classes around it, outermost first."""

    __test__ = False

    name: str
    node: Function
    owners: tuple[ast.ClassDef, ...]

    @cached_property
    def lines(self) -> list[str]:
        """The body as normalised source lines."""
        return [line for statement in self.node.body for line in ast.unparse(statement).splitlines()]


def own_lines(test: TestFunction, lines: list[bytes]) -> list[bytes]:
    """Return a test's own lines of its file, its decorators with them."""
    first = min([test.node.lineno, *(item.lineno for item in test.node.decorator_list)])
    return lines[first - 1 : test.node.end_lineno]


def parse(source: bytes | None) -> tuple[ast.Module | None, str, int]:
    """Return (tree, problem, line); the tree is None for no source and for one that does not parse."""
    if source is None:
        return None, "", 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source), "", 0
    except SyntaxError as error:
        return None, error.msg, error.lineno or 1
    except (ValueError, RecursionError, MemoryError) as error:
        return None, str(error) or type(error).__name__, 1


def pair(old: bytes | None, new: bytes | None, *, whole: bool = True, in_tests: bool = False) -> PythonPair:
    """Parse both sides of a file; unless the `whole` is asked for, only what differs, where that will do."""
    if not whole and old is not None and new is not None:
        parts = parsed_parts(old, new, in_tests=in_tests)
        if parts is not None:
            return PythonPair(*parts, is_part=True)
    old_tree, _, _ = parse(old)
    new_tree, error, line = parse(new)
    return PythonPair(old_tree, new_tree, error, line)


def tests_of(tree: ast.Module | None) -> dict[str, TestFunction]:
    """Return the tests that runners would collect, by `Class::name`; a later one hides an earlier."""
    found: dict[str, TestFunction] = {}
    if tree is not None:
        _collect(tree.body, (), found)
    return found


def _collect(body: list[ast.stmt], owners: tuple[ast.ClassDef, ...], found: dict[str, TestFunction]) -> None:
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            name = "::".join([*(owner.name for owner in owners), node.name])
            found[name] = TestFunction(name, node, owners)
        elif isinstance(node, ast.ClassDef) and _is_collected(node):
            _collect(node.body, (*owners, node), found)
        elif isinstance(node, ast.Try | ast.With) or (
            isinstance(node, ast.If) and truth(node.test) is not False
        ):
            _collect(node.body, owners, found)


def _is_collected(node: ast.ClassDef) -> bool:
    """Tell whether runners look into a class: it is named Test…, or has a base that may be a TestCase."""
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            if "__test__" in names and not statement.value.value:
                return False
        if isinstance(statement, Function) and statement.name == "__init__" and not node.bases:
            return False
    return node.name.startswith("Test") or bool(node.bases)


def duplicated_tests(tree: ast.Module | None) -> dict[str, int]:
    """Return tests that a later definition of the same name hides, with that definition's line."""
    hidden: dict[str, int] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        seen: set[str] = set()
        for node in body:
            if isinstance(node, Function) and node.name.startswith("test"):
                marks = node.decorator_list if node.name in seen else []
                if node.name in seen and not any("overload" in ast.dump(item) for item in marks):
                    hidden[prefix + node.name] = node.lineno
                seen.add(node.name)
            elif isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}::")

    if tree is not None:
        look(tree.body, "")
    return hidden


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of names and attributes, the call's name for a call, else ""."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def aliases(tree: ast.Module) -> dict[str, str]:
    """Return what imported names mean: `{"sp": "subprocess", "system": "os.system"}`."""
    kept: dict[str, str] | None = tree.__dict__.get("aliases")
    if kept is None:
        kept = _aliases(tree)
        tree.__dict__["aliases"] = kept
    return kept


def _aliases(tree: ast.Module) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in of_kinds(tree, ast.Import):
        for item in node.names:
            names[item.asname or item.name.split(".")[0]] = (
                item.name if item.asname else item.name.split(".")[0]
            )
    for source in of_kinds(tree, ast.ImportFrom):
        if source.module and not source.level:
            for item in source.names:
                names[item.asname or item.name] = f"{source.module}.{item.name}"
    return names


def calls_of(tree: ast.Module | None) -> list[tuple[str, ast.Call]]:
    """Return every call with the full name of what it calls; worked out once for all rules."""
    if tree is None:
        return []
    kept: list[tuple[str, ast.Call]] | None = tree.__dict__.get("calls")
    if kept is None:
        names = aliases(tree)
        kept = [(full_name(node.func, names), node) for node in of_kinds(tree, ast.Call)]
        tree.__dict__["calls"] = kept
    return kept


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return a dotted name with its first part resolved through the file's imports."""
    name = _loaded(node) or dotted(node)
    first, dot, rest = name.partition(".")
    return names.get(first, first) + dot + rest


def _loaded(node: ast.expr) -> str:
    """Read `__import__("os").system` and `getattr(os, "system")` as `os.system`, "" for anything else."""
    if isinstance(node, ast.Attribute):
        inner = _loaded(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    if not isinstance(node, ast.Call) or not node.args:
        return ""
    last = node.args[-1]
    if not isinstance(last, ast.Constant) or not isinstance(last.value, str):
        return ""
    called = dotted(node.func).rsplit(".", 1)[-1]
    if called in {"__import__", "import_module"}:
        return last.value
    if called == "getattr" and len(node.args) == 2:
        return f"{_loaded(node.args[0]) or dotted(node.args[0])}.{last.value}"
    return ""


def functions_of(tree: ast.Module | None) -> dict[str, Function]:
    """Return every function and method by qualified name; nested ones too."""
    found: dict[str, Function] = {}
    waiting: list[tuple[str, list[ast.stmt]]] = [("", tree.body)] if tree is not None else []
    while waiting:
        prefix, body = waiting.pop()
        for node in body:
            inner = prefix
            if isinstance(node, Function | ast.ClassDef):
                inner = f"{prefix}{node.name}."
                if isinstance(node, Function):
                    found[prefix + node.name] = node
            parts = [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]
            blocks = [getattr(part, name, []) for part in parts for name in ("body", "orelse", "finalbody")]
            waiting += [(inner, block) for block in blocks if isinstance(block, list) and block]
    return found


def without_docstrings(tree: ast.Module) -> str:
    """Return a dump in which docstrings do not count, to tell whether only documentation changed."""
    clone = ast.parse(ast.unparse(tree))
    for node in nodes_of(clone):
        if (
            isinstance(node, ast.Module | ast.ClassDef | Function)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(clone)
