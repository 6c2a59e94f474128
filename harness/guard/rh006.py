"""RH006: debugging is left behind in source that had none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import calls_of
from harness.guard.python_walk import of_kinds
from harness.testing.paths import is_test_side

RULE = "RH006"
_WHY_STOP = "The program would stop here and wait for a person."
_WHY_NOISE = "The file printed nothing before; this looks like a trace of the search for the fault."
_BREAKS = frozenset(
    {
        *(
            "breakpoint",
            "pdb.set_trace",
            "ipdb.set_trace",
            "pudb.set_trace",
            "pdb.post_mortem",
            "wdb.set_trace",
        ),
        *("code.interact", "IPython.embed", "rpdb.set_trace", "sys.breakpointhook"),
    }
)
_PRINTS = re.compile(rb"\bp?print\(")
_TEXT_BREAKS = re.compile(r"\b(?:var_dump|dd|xdebug_break)\s*\(")
"""PHP has no grammar here."""


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for breakpoints anywhere, and for prints in source that had none."""
    for path, pair in context.python.items():
        breaks = _breaks(pair.new)
        known = {name for name, _ in _breaks(pair.old)} if breaks else set()
        for name, line in breaks:
            if name not in known:
                yield critical(RULE, path, line, f"`{name}` is left in the code", _WHY_STOP)
        old = context.change.deltas[path].old
        if is_test_side(path) or pair.old is None or _PRINTS.search(old or b""):
            continue
        for line in _prints(pair.new)[:3]:
            yield warning(RULE, path, line, "a `print` is left in the code", _WHY_NOISE)
    yield from _textual(context)


def _breaks(tree: ast.Module | None) -> list[tuple[str, int]]:
    return [(name, node.lineno) for name, node in calls_of(tree) if name in _BREAKS]


def _prints(tree: ast.Module | None) -> list[int]:
    return [
        node.lineno
        for node in of_kinds(tree, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id in {"print", "pprint"}
    ]


def _textual(context: Context) -> Iterator[Finding]:
    for path, delta in context.change.deltas.items():
        if delta.new is None or delta.is_binary or not path.endswith(".php"):
            continue
        match = _TEXT_BREAKS.search(delta.new_text)
        if match is not None and not _TEXT_BREAKS.search(delta.old_text):
            line = delta.new_text.count("\n", 0, match.start()) + 1
            yield critical(RULE, path, line, f"`{match[0].strip()}` is left in the code", _WHY_STOP)
