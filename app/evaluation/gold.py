"""The definitions that a fix touched, by the lines that differ; and whether a report names the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.localize.facts import Kind
from harness.localize.reading import facts_of

MOST_LINES = 20_000


def touched_definitions(path: str, before: str, after: str) -> tuple[str, ...]:
    """Return "path:Class.method" of the innermost definitions, as they were before, that a change touched."""
    old, new = before.split("\n"), after.split("\n")
    if len(old) > MOST_LINES or len(new) > MOST_LINES:
        return ()
    parts = [part for part in facts_of(path, before).parts if part.kind is not Kind.MODULE]
    found: dict[str, None] = {}
    for tag, first, last, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for line in range(first + 1, max(last, first + 1) + 1):
            around = [part for part in parts if part.first_line <= line <= part.last_line]
            if around:
                inner = min(around, key=lambda part: part.last_line - part.first_line)
                found[f"{path}:{inner.qualified}"] = None
    return tuple(found)


def names_a_file(text: str, files: Sequence[str]) -> bool:
    """Tell whether a report names one of the files: by path, by file name, or as a dotted module."""
    for path in files:
        pure = PurePosixPath(path)
        dotted = ".".join(pure.with_suffix("").parts)
        named = (path, pure.name, dotted, dotted.partition(".")[2])
        if any(name and "." in name and re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in named):
            return True
    return False
