"""RH007: a change that is larger, or of another kind, than its task asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from domain.model import Category, Finding
from harness.guard.change import Delta
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import parse, without_docstrings
from harness.testing.paths import is_documentation

RULE = "RH007"
MANY_FILES = 20
MANY_LINES = 1000


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for the size of the change, and for code in a documentation task."""
    paths = context.change.paths
    if len(paths) > MANY_FILES:
        what = f"the change touches {len(paths)} files"
        yield warning(RULE, paths[0], 0, what, "A fix is usually small; look for what does not belong to it.")
    lines = sum(map(changed_lines, context.change.deltas.values())) if _may_be_many(context) else 0
    if lines > MANY_LINES:
        what = f"the change touches {lines} lines"
        yield warning(RULE, paths[0], 0, what, "A fix is usually small; look for what does not belong to it.")
    if context.category is Category.DOCS:
        for path in paths:
            if not is_documentation(path) and not _only_docstrings(context.change.deltas[path]):
                why = "Readers of a documentation change do not expect the program to behave differently."
                yield critical(RULE, path, 0, "a documentation task changes code", why)


def _may_be_many(context: Context) -> bool:
    """Tell whether all lines of all sides together would be too many."""
    sides = (side for delta in context.change.deltas.values() for side in (delta.old, delta.new))
    return sum((side or b"").count(b"\n") + 1 for side in sides) > MANY_LINES


def changed_lines(delta: Delta) -> int:
    """Return how many lines a delta adds and removes, moved ones not counted; 0 for binary files."""
    if delta.is_binary:
        return 0
    sides = [(delta.old or b"").splitlines(), (delta.new or b"").splitlines()]
    start = next((at for at, pair in enumerate(zip(*sides, strict=False)) if pair[0] != pair[1]), 0)
    old, new = (Counter(lines[start:]) for lines in sides)
    return (old - new).total() + (new - old).total()


def _only_docstrings(delta: Delta) -> bool:
    if not delta.path.endswith((".py", ".pyi")) or delta.old is None or delta.new is None:
        return False
    old, new = parse(delta.old)[0], parse(delta.new)[0]
    return old is not None and new is not None and without_docstrings(old) == without_docstrings(new)
