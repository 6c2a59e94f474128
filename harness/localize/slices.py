"""Numbered source of whole definitions, best first, within a budget of tokens."""

from __future__ import annotations

from pathlib import Path

from harness.localize.rank import Ranking
from harness.localize.reading import read_source

BYTES_PER_TOKEN = 4
MAX_SHARE = 0.5
"""How much of the budget one definition may take; a longer one gives way to shorter ones."""

MOST_FILES = 20
"""Files that are opened; beyond, the ranking is a guess."""


def cut_slices(tree: Path, ranking: Ranking, token_budget: int) -> str:
    """Return slices of at most `token_budget` tokens (4 bytes each), "" where nothing fits."""
    room = token_budget * BYTES_PER_TOKEN
    largest = int(room * MAX_SHARE)
    corpus = ranking.corpus
    sources: dict[str, list[str]] = {}
    taken: dict[str, list[tuple[int, int]]] = {}
    pieces: list[str] = []
    for item in ranking.parts:
        if room < 200:
            break
        part, path = corpus.parts[item.part], corpus.files[corpus.file_of[item.part]].path
        if path not in sources:
            if len(sources) >= MOST_FILES:
                continue
            sources[path] = read_source(tree, path).split("\n")
        first, last = part.first_line, part.last_line
        if any(first <= end and begin <= last for begin, end in taken.get(path, [])):
            continue
        piece = _slice(f"{path}:{first}-{last} {part.qualified}", sources[path], first, last)
        size = len(piece.encode())
        if size > min(room, largest):
            continue
        room -= size
        pieces.append(piece)
        taken.setdefault(path, []).append((first, last))
    return "".join(pieces)


def _slice(heading: str, lines: list[str], first: int, last: int) -> str:
    width = len(str(last))
    numbered = (
        f"{number:>{width}}  {lines[number - 1]}" for number in range(first, min(last, len(lines)) + 1)
    )
    return "\n".join((heading, *numbered)) + "\n\n"
