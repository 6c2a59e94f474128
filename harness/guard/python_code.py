"""Python sources as trees: parsing that never raises, tests by name, assertions, literals, import aliases."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from harness.guard.python_parts import parsed_parts

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
        elif isinstance(node, ast.If | ast.Try | ast.With) and not is_dead(node):
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
                overload = any("overload" in ast.dump(item) for item in node.decorator_list)
                if node.name in seen and not overload:
                    hidden[prefix + node.name] = node.lineno
                seen.add(node.name)
            elif isinstance(node, ast.ClassDef):
                look(node.body, f"{prefix}{node.name}::")

    if tree is not None:
        look(tree.body, "")
    return hidden


def is_dead(node: ast.stmt) -> bool:
    """Tell whether a statement is an `if` whose body can never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value


def live_nodes(body: list[ast.stmt], *, calls: bool = True) -> Iterator[ast.stmt]:
    """Walk statements that can run: not after a return or raise in the same block, not under `if False`.

    Without `calls`, only those that run with the block itself: functions' bodies are left out.
    """
    for statement in body:
        if not is_dead(statement):
            yield statement
            if not calls and isinstance(statement, Function):
                continue
            for name in ("body", "orelse", "finalbody"):
                inner = [item for item in getattr(statement, name, []) if isinstance(item, ast.stmt)]
                yield from live_nodes(inner, calls=calls)
            for handler in getattr(statement, "handlers", []):
                yield from live_nodes(handler.body, calls=calls)
            for case in getattr(statement, "cases", []):
                yield from live_nodes(case.body, calls=calls)
        if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return


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
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                names[item.asname or item.name.split(".")[0]] = (
                    item.name if item.asname else item.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for item in node.names:
                names[item.asname or item.name] = f"{node.module}.{item.name}"
    return names


def full_name(node: ast.expr, names: dict[str, str]) -> str:
    """Return a dotted name with its first part resolved through the file's imports."""
    name = dotted(node)
    first, dot, rest = name.partition(".")
    return names.get(first, first) + dot + rest


def functions_of(tree: ast.Module | None) -> dict[str, Function]:
    """Return every function and method by qualified name; nested ones too."""
    found: dict[str, Function] = {}

    def look(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                found[prefix + child.name] = child
                look(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                look(child, f"{prefix}{child.name}.")
            else:
                look(child, prefix)

    if tree is not None:
        look(tree, "")
    return found


def without_docstrings(tree: ast.Module) -> str:
    """Return a dump in which docstrings do not count, to tell whether only documentation changed."""
    clone = ast.parse(ast.unparse(tree))
    for node in ast.walk(clone):
        if (
            isinstance(node, ast.Module | ast.ClassDef | Function)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(clone)
