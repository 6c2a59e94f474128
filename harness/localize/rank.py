"""Scoring every file and definition against a query: the sum of six scores, each relative to its best."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.localize.corpus import Chunk, Corpus, SourceFile
from harness.localize.query import Frame, Query
from harness.localize.words import WORD, is_common, parts_of

WEIGHTS: Mapping[str, float] = {
    "text": 1.0,
    "definitions": 1.0,
    "path": 0.5,
    "defined names": 0.5,
    "named file": 1.0,
    "traceback": 0.3,
    "failing test": 4.0,
}
"""What each score counts for in the sum."""

ASIDE_FACTOR = 0.1
_SATURATION, _LENGTH = 1.2, 0.75
_BEST_CHUNKS = (1.0, 0.5, 0.25, 0.125)
_MAX_DEFINERS = 25


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file with its score (0 and up) and what speaks for it, strongest first."""

    file: SourceFile
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankedDefinition:
    """A definition in its file, with its score."""

    file: SourceFile
    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files and definitions, best first; equal scores in the order of their paths."""

    files: tuple[RankedFile, ...]
    definitions: tuple[RankedDefinition, ...]


def rank(corpus: Corpus, query: Query) -> Ranking:
    """Score all candidates by all features; nothing is cut before the end."""
    _score_text(corpus, query)
    _score_paths(corpus, query)
    _score_defined_names(corpus, query)
    _score_named_files(corpus, query)
    _score_frames(corpus, query.frames, "traceback")
    _score_frames(corpus, query.failing_frames, "failing test")
    best = {name: max((file.scores.get(name, 0.0) for file in corpus.files), default=0.0) for name in WEIGHTS}
    ranked = [_ranked(file, best) for file in corpus.files]
    ranked.sort(key=lambda item: (-item.score, item.file.path))
    return Ranking(tuple(ranked), _definitions(ranked, query))


def _ranked(file: SourceFile, best: Mapping[str, float]) -> RankedFile:
    shares = {
        name: weight * file.scores.get(name, 0.0) / best[name]
        for name, weight in WEIGHTS.items()
        if best[name]
    }
    total = sum(shares.values()) * (ASIDE_FACTOR if file.aside else 1.0)
    reasons = sorted((name for name in shares if shares[name] > 0.1), key=lambda name: -shares[name])
    return RankedFile(file, total, tuple(reasons))


# -- text -------------------------------------------------------------------------------------------


def _score_text(corpus: Corpus, query: Query) -> None:
    candidates = [file for file in corpus.files if not file.aside] or corpus.files
    by_file = _Bm25(((file.counts, file.length) for file in candidates), query.words)
    chunks = [chunk for file in candidates for chunk in file.chunks]
    by_chunk = _Bm25(((chunk.counts, chunk.length) for chunk in chunks), query.words)
    for file in corpus.files:
        file.scores["text"] = by_file.score(file.counts, file.length)
        for chunk in file.chunks:
            chunk.score = by_chunk.score(chunk.counts, chunk.length)
        top = sorted((chunk.score for chunk in file.chunks), reverse=True)
        file.scores["definitions"] = sum(w * s for w, s in zip(_BEST_CHUNKS, top, strict=False))


class _Bm25:
    """Okapi BM25 over documents that are given as counts of the query's words."""

    def __init__(
        self, documents: Iterable[tuple[Mapping[str, int], int]], words: Mapping[str, float]
    ) -> None:
        frequency: Counter[str] = Counter()
        count = length = 0
        for counts, size in documents:
            frequency.update(counts.keys())
            count += 1
            length += size
        self._average = max(1.0, length / max(1, count))
        self._weights = {
            word: weight * math.log(1 + (count - frequency[word] + 0.5) / (frequency[word] + 0.5))
            for word, weight in words.items()
            if frequency[word]
        }

    def score(self, counts: Mapping[str, int], length: int) -> float:
        """Return a document's score."""
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * length / self._average)
        weights = self._weights
        return sum(
            weights[word] * times * (_SATURATION + 1) / (times + norm)
            for word, times in counts.items()
            if word in weights
        )


# -- names ------------------------------------------------------------------------------------------


def _score_paths(corpus: Corpus, query: Query) -> None:
    tokens = {file.path: _path_words(file.path) for file in corpus.files}
    frequency = Counter(word for words in tokens.values() for word in words)
    total = max(1, len(corpus.files))
    for file in corpus.files:
        file.scores["path"] = sum(
            min(query.words[word], 3.0) * factor * math.log(1 + total / frequency[word])
            for word, factor in tokens[file.path].items()
            if word in query.words
        )


def _path_words(path: str) -> dict[str, float]:
    pure = PurePosixPath(path)
    words: dict[str, float] = {}
    for segment, factor in [*((part, 1.0) for part in pure.parts[:-1]), (pure.stem, 1.5)]:
        for raw in WORD.findall(segment):
            for part in parts_of(raw):
                if not is_common(part):
                    words[part] = max(words.get(part, 0.0), factor)
    return words


def _score_defined_names(corpus: Corpus, query: Query) -> None:
    definers = Counter(name for file in corpus.files if not file.aside for name in file.defined)
    for file in corpus.files:
        hits = file.defined & query.identifiers
        file.scores["defined names"] = sum(
            1.0 / definers[name] ** 0.7 for name in sorted(hits) if 0 < definers[name] <= _MAX_DEFINERS
        )


def _score_named_files(corpus: Corpus, query: Query) -> None:
    by_name: dict[str, list[SourceFile]] = {}
    for file in corpus.files:
        by_name.setdefault(PurePosixPath(file.path).name, []).append(file)
        by_name.setdefault(PurePosixPath(file.path).stem, []).append(file)
    for named in sorted(query.paths):
        last = named.rsplit("/", 1)[-1]
        matches = [(file, _overlap(named, file.path)) for file in by_name.get(last, [])]
        if "/" in named and "." not in last:
            parent = named.rsplit("/", 1)[0]
            if "/" in parent:
                matches += [
                    (file, _overlap(parent, file.path)) for file in by_name.get(parent.rsplit("/", 1)[-1], [])
                ]
        deepest = max((depth for _, depth in matches), default=0)
        chosen = [file for file, depth in matches if depth == deepest and (depth > 1 or "." in last)]
        for file in chosen:
            file.scores["named file"] = file.scores.get("named file", 0.0) + 1.0 / len(chosen)


def _overlap(named: str, path: str) -> int:
    """Return how many segments a named path and a real one share from the end."""
    one = named.split("/")
    other = path.split("/")
    if "." not in one[-1]:
        other = [*other[:-1], PurePosixPath(other[-1]).stem]
    depth = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        depth += 1
    return depth


def _score_frames(corpus: Corpus, frames: tuple[Frame, ...], name: str) -> None:
    """The last frame is where it went wrong; those before it count less and less."""
    by_name: dict[str, list[SourceFile]] = {}
    for file in corpus.files:
        by_name.setdefault(PurePosixPath(file.path).name, []).append(file)
    weight = 1.0
    for frame in reversed(frames):
        matches = [(f, _overlap(frame.path, f.path)) for f in by_name.get(frame.path.rsplit("/", 1)[-1], [])]
        deepest = max((depth for _, depth in matches), default=0)
        chosen = [file for file, depth in matches if depth == deepest]
        is_sure = deepest > 1 or (len(chosen) == 1 and "/" not in chosen[0].path)
        if not is_sure or len(chosen) > 2:
            continue
        for file in chosen:
            if not file.aside:
                file.scores[name] = max(file.scores.get(name, 0.0), weight)
                _credit(file, frame, weight)
        weight *= 0.7


def _credit(file: SourceFile, frame: Frame, weight: float) -> None:
    for chunk in file.chunks:
        definition = chunk.definition
        if definition.name == frame.function or definition.first_line <= frame.line <= definition.last_line:
            chunk.score += weight * (1.0 + chunk.score)
            return


# -- definitions ------------------------------------------------------------------------------------


def _definitions(ranked: list[RankedFile], query: Query, files: int = 60) -> tuple[RankedDefinition, ...]:
    """Rank definitions by their own score and that of their file."""
    best_file = ranked[0].score if ranked else 0.0
    head = ranked[:files]
    best_chunk = max((chunk.score for item in head for chunk in item.file.chunks), default=0.0)
    if not best_file or not best_chunk:
        return ()
    found = []
    for item in head:
        for chunk in item.file.chunks:
            if not chunk.definition.name:
                continue
            named = 0.3 if chunk.definition.name in query.identifiers else 0.0
            score = chunk.score / best_chunk + named + item.score / best_file
            found.append(
                RankedDefinition(item.file, chunk, score * (ASIDE_FACTOR if item.file.aside else 1.0))
            )
    found.sort(key=lambda one: (-one.score, one.file.path, one.chunk.definition.first_line))
    return tuple(found)
