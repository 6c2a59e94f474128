"""Numbered source of whole definitions, best first, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.localize.definitions import exact
from harness.localize.rank import RankedDefinition
from harness.testing.files import read_text

BYTES_PER_TOKEN = 4
MAX_SHARE = 0.5
"""How much of the budget one definition may take; a longer one gives way to shorter ones."""


def cut_slices(tree: Path, ranked: Iterable[RankedDefinition], token_budget: int) -> str:
    """Return slices of at most `token_budget` tokens (4 bytes each), "" where nothing fits."""
    room = token_budget * BYTES_PER_TOKEN
    largest = int(room * MAX_SHARE)
    sources: dict[str, tuple[list[str], dict[str, tuple[int, int]]]] = {}
    taken: dict[str, list[tuple[int, int]]] = {}
    parts: list[str] = []
    for item in ranked:
        path = item.file.path
        if path not in sources:
            text = read_text(tree, path, 2**20)
            sources[path] = (text.splitlines(), exact(path, text))
        lines, extents = sources[path]
        definition = item.chunk.definition
        first, last = extents.get(definition.qualified, (definition.first_line, definition.last_line))
        if any(
            first <= there_last and there_first <= last for there_first, there_last in taken.get(path, [])
        ):
            continue
        part = _slice(path, definition.qualified, lines, first, last)
        size = len(part.encode())
        if size > min(room, largest):
            continue
        room -= size
        parts.append(part)
        taken.setdefault(path, []).append((first, last))
        if room < 200:
            break
    return "".join(parts)


def _slice(path: str, symbol: str, lines: list[str], first: int, last: int) -> str:
    width = len(str(last))
    body = "\n".join(
        f"{number:>{width}}  {lines[number - 1]}" for number in range(first, min(last, len(lines)) + 1)
    )
    return f"{path}:{first}-{last} {symbol}\n{body}\n\n"
