"""The localizer: ranks a checked-out tree's files and definitions for an issue, without a model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog

from domain.model import Localization, PastChange, Suspect
from domain.ports import Localizer
from harness.localize.corpus import Corpus, read_corpus
from harness.localize.features import collect, wanted_terms
from harness.localize.kept_facts import FactsKeeper
from harness.localize.query import read_query
from harness.localize.rank import RankedFile, Ranking, rank
from harness.localize.reading import Shelf
from harness.localize.slices import cut_slices
from harness.localize.weights import Weights, read_weights

MAX_SUSPECTS = 15
FULL = "full"
_NULL = "null"
_SAYINGS: Mapping[str, str] = {
    "text": "its text matches the issue",
    "words found": "it has words of the issue",
    "definitions": "definitions in it match the issue",
    "long definitions": "definitions in it match the issue",
    "title text": "it matches the title",
    "lead text": "it matches the first sentences",
    "name words of title": "names in it say what the title says",
    "title first": "it matches the title best",
    "spoken of": "the issue speaks of what it defines",
    "flags": "it has a flag that the issue names",
    "like changes": "changes with a like message touched it",
    "title covered": "a definition in it has the words of the title",
    "name words": "names in it say what the issue says",
    "defined names": "it defines names that the issue uses",
    "qualified names": "it defines a method that the issue names",
    "variables": "it sets names that the issue uses",
    "path": "its path matches the issue",
    "whole stem": "its name is in the issue",
    "named file": "the issue names it",
    "messages": "it has a message that the issue quotes",
    "literals": "it has a text that the issue quotes",
    "names in literals": "it has a text that the issue quotes",
    "imported by issue": "code in the issue imports it",
    "in traceback": "it is in the issue's traceback",
    "traceback": "it is in the issue's traceback",
    "failing test": "it is in the failing test's traceback",
    "name of tests": "tests that match are named after it",
    "imported by tests": "tests that match import it",
    "imported by the best": "files that match import it",
    "base classes": "it defines a base of a class in the issue",
    "calls": "it calls what the issue names",
    "arguments": "it takes arguments that the issue names",
}

log = structlog.get_logger(__name__)

STRATEGIES = (_NULL, "grep", "bm25", "symbols", FULL)
"""Names that a localizer can be had by; each stage can be measured alone."""


class NullLocalizer:
    """Suspects nothing: what the agent does without help."""

    name = _NULL

    def localize(
        self,
        tree: Path,
        issue_text: str,
        failing_output: str,
        token_budget: int,
        past: Sequence[PastChange] = (),
    ) -> Localization:
        """Return no suspects."""
        return Localization(strategy=self.name, suspects=(), slices="", seconds=0.0)


class FaultLocalizer:
    """Ranks by all evidence that a strategy weighs. With `index`, what was read once is not read again."""

    def __init__(self, strategy: str = FULL, *, index: Path | None = None, most: int = MAX_SUSPECTS) -> None:
        """Use a strategy by name, and the file `index` for what is known of sources. Raises ValueError.

        `most` is how many suspects are named.
        """
        weights = read_weights()
        if strategy not in weights:
            raise ValueError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
        self.name = strategy
        self._most = most
        self._weights: Weights = weights[strategy]
        self._keeper = FactsKeeper(index) if index is not None else None

    def localize(
        self,
        tree: Path,
        issue_text: str,
        failing_output: str = "",
        token_budget: int = 0,
        past: Sequence[PastChange] = (),
    ) -> Localization:
        """Rank the places in a checked-out tree and cut slices of at most `token_budget` tokens."""
        started = time.perf_counter()
        ranking = self.ranking(tree, issue_text, failing_output, past)
        return Localization(
            strategy=self.name,
            suspects=_suspects(ranking, self._most),
            slices=cut_slices(tree, ranking, token_budget),
            seconds=time.perf_counter() - started,
        )

    def ranking(
        self, tree: Path, issue_text: str, failing_output: str = "", past: Sequence[PastChange] = ()
    ) -> Ranking:
        """Return every file that anything speaks for, and the definitions of the best ones, ranked."""
        query = read_query(issue_text, failing_output)
        corpus = read_corpus(tree, wanted_terms(query), Shelf(self._keeper))
        return rank(corpus, collect(corpus, query, self._weights.features, past), self._weights)


class ForgivingLocalizer:
    """Another localizer, whose failure costs an attempt nothing but its help."""

    def __init__(self, inner: Localizer) -> None:
        self.name = inner.name
        self._inner = inner

    def localize(
        self,
        tree: Path,
        issue_text: str,
        failing_output: str,
        token_budget: int,
        past: Sequence[PastChange] = (),
    ) -> Localization:
        """Return what the other one finds, nothing where it fails."""
        try:
            return self._inner.localize(tree, issue_text, failing_output, token_budget, past)
        except Exception:
            log.exception("the localizer failed", strategy=self.name)
            return Localization(strategy=self.name, suspects=(), slices="", seconds=0.0)


def localizer_named(strategy: str, *, index: Path | None = None, most: int = MAX_SUSPECTS) -> Localizer:
    """Return the localizer of a strategy, `null` included. Raises ValueError."""
    return NullLocalizer() if strategy == _NULL else FaultLocalizer(strategy, index=index, most=most)


def _suspects(ranking: Ranking, most: int) -> tuple[Suspect, ...]:
    """Name the best files, each with its best definition."""
    corpus = ranking.corpus
    best: dict[int, int] = {}
    for item in ranking.parts:
        best.setdefault(corpus.file_of[item.part], item.part)
    return tuple(_suspect(corpus, item, best.get(item.file)) for item in ranking.files[:most])


def _suspect(corpus: Corpus, item: RankedFile, part: int | None) -> Suspect:
    found = corpus.parts[part] if part is not None else None
    said = dict.fromkeys(_SAYINGS.get(reason, reason) for reason in item.reasons)
    return Suspect(
        path=corpus.files[item.file].path,
        symbol=found.qualified if found else "",
        score=round(item.share, 4),
        first_line=found.first_line if found else 0,
        last_line=found.last_line if found else 0,
        why="; ".join(list(said)[:2]),
    )
