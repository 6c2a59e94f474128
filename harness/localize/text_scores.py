"""How well the text of files and of their parts matches an issue: BM25, by region and in all."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.localize.corpus import Corpus
from harness.localize.query import REGION_WEIGHTS, Query, damped
from harness.localize.regions import Region

BEST_PARTS = (1.0, 0.5, 0.25, 0.125)
"""A file is worth its best four parts, each half of the one before."""

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class _Kind:
    """How fast repeated words cease to count, and how much a long text is held against itself."""

    saturation: float
    length: float


_WHOLE = _Kind(1.2, 0.75)
_PART = _Kind(1.2, 0.75)
_LONG_PART = _Kind(3.0, 0.3)


@dataclass(slots=True)
class TextScores:
    """Scores of files (`whole`, and how many of the `words` are there) and of parts, in all and by region."""

    whole: Scores = field(default_factory=lambda: defaultdict(float))
    words: Scores = field(default_factory=lambda: defaultdict(float))
    part: Scores = field(default_factory=lambda: defaultdict(float))
    long_part: Scores = field(default_factory=lambda: defaultdict(float))
    by_region: dict[Region, Scores] = field(
        default_factory=lambda: {region: defaultdict(float) for region in REGION_WEIGHTS}
    )
    title_cover: Scores = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class _Averages:
    parts: int
    part_length: float
    files: int
    file_length: float


def score_text(corpus: Corpus, query: Query, regions: frozenset[Region]) -> TextScores:
    """Score every file and part; rarity and average lengths are those of the product, not of its tests.

    Of single regions, only the given ones are scored.
    """
    scores = TextScores(by_region={r: defaultdict(float) for r in REGION_WEIGHTS if r in regions})
    averages = _averages(corpus)
    title_mass = 0.0
    for term in sorted(query.terms):
        hits = corpus.hits.get(term, [])
        rarity = _rarity(averages.parts, sum(1 for part, _ in hits if not corpus.is_aside(part)))
        _add_parts(corpus, query, term, rarity, averages.part_length, scores)
        in_files: dict[int, int] = defaultdict(int)
        for part, times in hits:
            in_files[corpus.file_of[part]] += times
        of_product = sum(1 for file in in_files if not corpus.files[file].aside)
        weight = query.weight(term) * _rarity(averages.files, of_product)
        for file, times in in_files.items():
            scores.words[file] += 1.0
            scores.whole[file] += weight * _share(
                _WHOLE, times, corpus.files[file].length, averages.file_length
            )
        if query.words[Region.TITLE][term]:
            mass = math.log(1 + averages.files / (1 + of_product))
            title_mass += mass
            for part, _ in hits:
                scores.title_cover[part] += mass
    for part in scores.title_cover:
        scores.title_cover[part] /= title_mass or 1.0
    return scores


def _add_parts(
    corpus: Corpus, query: Query, term: str, rarity: float, average: float, scores: TextScores
) -> None:
    weight = query.weight(term) * rarity
    regions = [
        (scores.by_region[region], rarity * damped(words[term]))
        for region, words in query.words.items()
        if words[term] and region in scores.by_region
    ]
    for part, times in corpus.hits.get(term, []):
        length = corpus.parts[part].length
        share = _share(_PART, times, length, average)
        scores.part[part] += weight * share
        scores.long_part[part] += weight * _share(_LONG_PART, times, length, average)
        for found, of_region in regions:
            found[part] += of_region * share


def _averages(corpus: Corpus) -> _Averages:
    lengths = [part.length for number, part in enumerate(corpus.parts) if not corpus.is_aside(number)]
    files = [file.length for file in corpus.files if not file.aside]
    return _Averages(
        max(1, len(lengths)),
        max(1.0, sum(lengths) / max(1, len(lengths))),
        max(1, len(files)),
        max(1.0, sum(files) / max(1, len(files))),
    )


def _rarity(total: int, having: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _share(kind: _Kind, times: int, length: int, average: float) -> float:
    norm = kind.saturation * (1 - kind.length + kind.length * length / average)
    return times * (kind.saturation + 1) / (times + norm)


def best_parts(corpus: Corpus, scores: Mapping[int, float]) -> Scores:
    """Return files by their best four parts."""
    by_file: dict[int, list[float]] = {}
    for part, score in scores.items():
        by_file.setdefault(corpus.file_of[part], []).append(score)
    return {file: _weighted(found) for file, found in by_file.items()}


def best_part(corpus: Corpus, scores: Mapping[int, float]) -> Scores:
    """Return files by their best part alone."""
    by_file: Scores = {}
    for part, score in scores.items():
        file = corpus.file_of[part]
        by_file[file] = max(by_file.get(file, 0.0), score)
    return by_file


def _weighted(found: Iterable[float]) -> float:
    best = sorted(found, reverse=True)[: len(BEST_PARTS)]
    return sum(weight * score for weight, score in zip(BEST_PARTS, best, strict=False))


def by_place(corpus: Corpus, scores: Mapping[int, float]) -> Scores:
    """Return one over their place for the product's files by a score: 1 for the best, a half for the next."""
    product = [file for file, score in scores.items() if score and not corpus.files[file].aside]
    product.sort(key=lambda file: (-scores[file], corpus.files[file].path))
    return {file: 1 / place for place, file in enumerate(product, 1)}
