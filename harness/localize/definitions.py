"""Where definitions begin in a source file: fast patterns for every language, exact extents for Python."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

_PYTHON = re.compile(r"^([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_BRACES = re.compile(
    r"^([ \t]*)(?:(?:export|default|public|private|protected|static|final|abstract|async"
    r"|pub(?:\([^)]*\))?|unsafe|const|override|internal|sealed)[ \t]+)*"
    r"(?:(?:function\*?|class|interface|enum|struct|trait|impl(?:<[^>]*>)?|fn|module|namespace|object|record)"
    r"\s+(\w+)"
    r"|func\s+(?:\([^)]*\)\s*)?(\w+)"
    r"|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>|\w+\s*=>)"
    r"|(?!(?:if|for|while|switch|catch|return|else|do|new|throw|await|typeof|delete|case|in|of|func)\b)"
    r"(?:[\w<>\[\],.?*&:]+[ \t]+)*?(\w+)[ \t]*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)[^;{}=\n]*\{)",
    re.MULTILINE,
)
_RUBY = re.compile(r"^([ \t]*)(?:def\s+(?:self\.)?([\w?!]+)|(?:class|module)\s+(\w+))", re.MULTILINE)
_BY_SUFFIX = {".py": _PYTHON, ".pyi": _PYTHON, ".rb": _RUBY, ".ex": _RUBY, ".exs": _RUBY}
MAX_DEFINITIONS = 5000
LONGEST_HEAD = 600
"""Characters of a definition's head. No pattern looks further, so that no file can make it read on and on."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class header or method. Lines count from 1; `start` and `end` are offsets in the text.

    Up to the next definition, not to its own end: see `exact` for that.
    """

    name: str
    qualified: str
    first_line: int
    last_line: int
    start: int
    end: int


def outline(path: str, text: str) -> list[Definition]:
    """Return a file's definitions in order; the part before the first is one too, with an empty name."""
    pattern = _BY_SUFFIX.get(PurePosixPath(path).suffix, _BRACES)
    found: list[tuple[int, int, str]] = []
    for match in _heads(pattern, text):
        name = next((group for group in match.groups()[1:] if group), "")
        found.append((match.start(), len(match[1].expandtabs(4)), name))
        if len(found) >= MAX_DEFINITIONS:
            break
    starts = [start for start, _, _ in found] + [len(text)]
    definitions = [Definition("", "", 1, _line(text, 0, starts[0]), 0, starts[0])] if starts[0] else []
    line, position = 1, 0
    open_ones: list[tuple[int, str]] = []
    for (start, indent, name), end in zip(found, starts[1:], strict=True):
        line += text.count("\n", position, start)
        position = start
        while open_ones and open_ones[-1][0] >= indent:
            open_ones.pop()
        open_ones.append((indent, name))
        qualified = ".".join(part for _, part in open_ones)
        last = line + max(0, text.count("\n", start, end) - 1)
        definitions.append(Definition(name, qualified, line, last, start, end))
    return definitions


def _heads(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the heads of definitions, each at the beginning of a line."""
    start = 0
    while start < len(text):
        match = pattern.match(text, start, start + LONGEST_HEAD)
        if match is not None:
            yield match
        line_end = text.find("\n", start if match is None else max(start, match.end() - 1))
        if line_end < 0:
            return
        start = line_end + 1


def _line(text: str, start: int, end: int) -> int:
    return max(1, text.count("\n", start, end))


def exact(path: str, text: str) -> dict[str, tuple[int, int]]:
    """Return the true extents, decorators included, of a Python file's definitions by qualified name."""
    if not path.endswith((".py", ".pyi")):
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, tuple[int, int]] = {}

    def look(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                found.setdefault(prefix + node.name, (first, node.end_lineno or node.lineno))
                look(node.body, f"{prefix}{node.name}.")
            else:
                for name in ("body", "orelse", "finalbody"):
                    look([item for item in getattr(node, name, []) if isinstance(item, ast.stmt)], prefix)

    look(tree.body, "")
    return found
