"""The facts of a Python file, by the language's own parser."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable

from harness.localize.facts import ARGUMENT, VARIABLE, FileFacts, Import, Kind
from harness.localize.patterns import PYTHON_IMPORT, PYTHON_MODULE

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEEPEST = 40
"""Classes and blocks inside one another that are looked into."""


def python_facts(text: str) -> FileFacts | None:
    """Return a file's facts, None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    reader = _Reader(text)
    reader.block(tree.body, "", Kind.MODULE)
    reader.facts.imports = python_imports(text)
    return reader.facts


def python_imports(text: str) -> list[Import]:
    """Return what a file imports, inside functions too."""
    found = [Import(module, "", alias) for module, alias in PYTHON_MODULE.findall(text)]
    for match in PYTHON_IMPORT.finditer(text):
        names = match[3]
        if "(" in match[0]:
            names = text[match.start(3) : match.start(3) + 4000].partition(")")[0]
        for name in names.replace("\n", " ").split(","):
            words = name.partition("#")[0].split()
            if words and words[0].isidentifier():
                alias = words[2] if len(words) > 2 and words[1] == "as" else ""
                found.append(Import(match[2], words[0], alias, len(match[1])))
    return list(dict.fromkeys(found))


class _Reader:
    """Goes through classes and blocks, and takes what is inside a definition out of what is around it."""

    def __init__(self, text: str) -> None:
        self.facts = FileFacts()
        self._lines = text.split("\n")

    def block(self, body: list[ast.stmt], prefix: str, kind: Kind) -> None:
        """Read a whole file, as a part of its own and the definitions in it."""
        inner: list[tuple[int, int]] = []
        names = self._statements(body, prefix, inner, 0)
        own = self._without(1, len(self._lines), inner)
        self.facts.add(("", "", kind, 1, len(self._lines)), own, *(VARIABLE + name for name in names))

    def _statements(
        self, body: Iterable[ast.AST], prefix: str, inner: list[tuple[int, int]], depth: int
    ) -> list[str]:
        """Read statements; return the names that they give values to."""
        names: list[str] = []
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner.append(self._function(node, prefix))
            elif isinstance(node, ast.ClassDef):
                inner.append(self._class(node, prefix, depth))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                names += _assigned(node)
            elif isinstance(node, ast.If | ast.Try | ast.With) and depth < DEEPEST:
                for name in ("body", "orelse", "finalbody"):
                    names += self._statements(getattr(node, name, []), prefix, inner, depth + 1)
                for handler in getattr(node, "handlers", []):
                    names += self._statements(handler.body, prefix, inner, depth + 1)
        return names

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str) -> tuple[int, int]:
        first, last = _extent(node)
        arguments = [ARGUMENT + each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
        text = "\n".join(self._lines[first - 1 : last])
        self.facts.add((node.name, prefix + node.name, Kind.FUNCTION, first, last), text, *arguments)
        return first, last

    def _class(self, node: ast.ClassDef, prefix: str, depth: int) -> tuple[int, int]:
        first, last = _extent(node)
        qualified = prefix + node.name
        inner: list[tuple[int, int]] = []
        names = self._statements(node.body, qualified + ".", inner, depth + 1) if depth < DEEPEST else []
        self.facts.bases[qualified] = tuple(filter(None, map(_last_name, node.bases)))
        own = self._without(first, last, inner)
        named = [VARIABLE + name for name in names]
        self.facts.add((node.name, qualified, Kind.CLASS, first, last), own, *named)
        return first, last

    def _without(self, first: int, last: int, inner: list[tuple[int, int]]) -> str:
        """Return the lines of a stretch that lie in none of the stretches inside it."""
        kept: list[str] = []
        line = first
        for begin, end in sorted(inner):
            kept += self._lines[line - 1 : begin - 1]
            line = max(line, end + 1)
        return "\n".join([*kept, *self._lines[line - 1 : last]])


def _extent(node: _Definition) -> tuple[int, int]:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _assigned(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    flat = [
        each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    return [each.id for each in flat if isinstance(each, ast.Name)]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
