"""The localizers: one that finds nothing, for comparison, and the baseline on text, names and tracebacks."""

from __future__ import annotations

import time
from pathlib import Path

from domain.model import Localization, Suspect
from harness.localize.corpus import read_corpus
from harness.localize.definitions import exact
from harness.localize.query import read_query
from harness.localize.rank import RankedDefinition, RankedFile, Ranking, rank
from harness.localize.slices import cut_slices
from harness.testing.files import read_text

MAX_SUSPECTS = 15
_SAYINGS = {
    "text": "its text matches the issue",
    "definitions": "definitions in it match the issue",
    "path": "its path matches the issue",
    "defined names": "it defines names that the issue uses",
    "named file": "the issue names it",
    "traceback": "it is in the issue's traceback",
    "failing test": "it is in the failing test's traceback",
}


class NullLocalizer:
    """Suspects nothing: what the agent does without help."""

    name = "null"

    def localize(self, tree: Path, issue_text: str, failing_output: str, token_budget: int) -> Localization:
        """Return no suspects."""
        return Localization(strategy=self.name, suspects=(), slices="", seconds=0.0)


class BaselineLocalizer:
    """Ranks by BM25 over files and definitions, defined names, paths, named files and traceback frames."""

    name = "bm25"

    def localize(self, tree: Path, issue_text: str, failing_output: str, token_budget: int) -> Localization:
        """Rank the places in a checked-out tree and cut slices of at most `token_budget` tokens."""
        started = time.perf_counter()
        ranking = self.ranking(tree, issue_text, failing_output)
        suspects = _suspects(tree, ranking)
        slices = cut_slices(tree, ranking.definitions, token_budget)
        return Localization(
            strategy=self.name, suspects=suspects, slices=slices, seconds=time.perf_counter() - started
        )

    def ranking(self, tree: Path, issue_text: str, failing_output: str = "") -> Ranking:
        """Return every file and the definitions of the best ones, ranked."""
        query = read_query(issue_text, failing_output)
        return rank(read_corpus(tree, query.words), query)


def _suspects(tree: Path, ranking: Ranking) -> tuple[Suspect, ...]:
    """Name the best files, each with its best definition."""
    best: dict[str, RankedDefinition] = {}
    for definition in ranking.definitions:
        best.setdefault(definition.file.path, definition)
    found = [item for item in ranking.files[:MAX_SUSPECTS] if item.score > 0]
    return tuple(_suspect(tree, item, best.get(item.file.path)) for item in found)


def _suspect(tree: Path, item: RankedFile, best: RankedDefinition | None) -> Suspect:
    symbol, first, last = "", 0, 0
    if best is not None:
        definition = best.chunk.definition
        extents = exact(item.file.path, read_text(tree, item.file.path, 2**20))
        symbol = definition.qualified
        first, last = extents.get(symbol, (definition.first_line, definition.last_line))
    return Suspect(
        path=item.file.path,
        symbol=symbol,
        score=round(item.score, 4),
        first_line=first,
        last_line=last,
        why="; ".join(_SAYINGS[reason] for reason in item.reasons[:2]),
    )
