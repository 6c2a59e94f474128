"""The ranking: every file and every part by the weighted sum of all its evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from harness.localize.corpus import Corpus
from harness.localize.facts import Kind
from harness.localize.features import Features
from harness.localize.text_scores import Scores
from harness.localize.weights import CIRCUMSTANCES, Form, Weight, Weights

ASIDE_PENALTY = 20.0
"""What tests, documentation and examples are behind: they come after everything that the issue speaks of."""

FILES_WITH_PARTS = 60
_LOWEST = -6.0


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file by its number in the corpus; `share` is its share of what the ranking is sure of, 0 to 1."""

    file: int
    score: float
    share: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankedPart:
    """A definition by its number in the corpus."""

    part: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Files and definitions, best first; equal scores in the order of their paths."""

    corpus: Corpus
    files: tuple[RankedFile, ...]
    parts: tuple[RankedPart, ...]


def rank(corpus: Corpus, features: Features, weights: Weights) -> Ranking:
    """Weigh all evidence for all candidates. Files that nothing speaks for are left out."""
    scores, reasons = _weighed(features.files, weights.files, lambda file: corpus.files[file].aside)
    for file in scores:
        if corpus.files[file].aside:
            scores[file] -= ASIDE_PENALTY
    order = sorted(reasons, key=lambda file: (-round(scores[file], 9), corpus.files[file].path))
    total = _log_sum(scores[file] for file in order)
    files = tuple(
        RankedFile(file, scores[file], math.exp(scores[file] - total), tuple(reasons[file][:3]))
        for file in order
    )
    return Ranking(corpus, files, _parts(corpus, features, weights, files))


def _parts(
    corpus: Corpus, features: Features, weights: Weights, files: tuple[RankedFile, ...]
) -> tuple[RankedPart, ...]:
    """Rank the definitions of the best files; what a file is worth is evidence for what is in it."""
    evidence = part_evidence(corpus, features, files)
    scores, _ = _weighed(evidence, weights.parts, corpus.is_aside)
    order = sorted(evidence["file"], key=lambda part: (-round(scores.get(part, 0.0), 9), part))
    return tuple(RankedPart(part, scores.get(part, 0.0)) for part in order)


def part_evidence(corpus: Corpus, features: Features, files: tuple[RankedFile, ...]) -> dict[str, Scores]:
    """Return all evidence for the definitions of the best files; every one of them has "file"."""
    head = files[:FILES_WITH_PARTS]
    within = {part for item in head for part in corpus.parts_of(item.file) if corpus.parts[part].name}
    evidence: dict[str, Scores] = {
        name: {part: score for part, score in scores.items() if part in within}
        for name, scores in features.parts.items()
    }
    return evidence | _circumstances(corpus, evidence, head)


def _circumstances(
    corpus: Corpus, evidence: Mapping[str, Mapping[int, float]], head: Iterable[RankedFile]
) -> dict[str, Scores]:
    """Return what a part is, how long, how it compares with the rest of its file, and the file's score."""
    found: dict[str, Scores] = {
        name: {} for name in ("file", "own share", "length", "is class", "is special", "class names")
    }
    fields, names = evidence.get("fields", {}), evidence.get("name words", {})
    for item in head:
        parts = [part for part in corpus.parts_of(item.file) if corpus.parts[part].name]
        classes = {corpus.parts[part].qualified: part for part in parts}
        best = max((fields.get(part, 0.0) for part in parts), default=0.0)
        for part in parts:
            around = classes.get(corpus.parts[part].qualified.rpartition(".")[0])
            found["file"][part] = max(_LOWEST, math.log(max(item.share, 1e-9))) / 3
            found["own share"][part] = fields.get(part, 0.0) / (best or 1.0)
            found["length"][part] = math.log(1 + corpus.parts[part].length) / 3 - 1
            found["is class"][part] = float(corpus.parts[part].kind is Kind.CLASS)
            found["is special"][part] = float(corpus.parts[part].name.startswith("__"))
            if around is not None:
                found["class names"][part] = names.get(around, 0.0)
    return found


def _weighed(
    features: Mapping[str, Scores], weights: tuple[Weight, ...], is_aside: Callable[[int], bool]
) -> tuple[Scores, dict[int, list[str]]]:
    """Return sums, and for whatever has evidence the features that speak for it, strongest first."""
    sums: Scores = {}
    evidence: dict[int, list[tuple[float, str]]] = {}
    floor = 0.0
    for line in weights:
        scores = features.get(line.feature, {})
        best = max((s for number, s in scores.items() if not is_aside(number)), default=0.0)
        best = best or max(scores.values(), default=0.0)
        missing = line.weight * formed(line.form, 0.0, best)
        floor += missing
        for number, score in scores.items():
            gain = line.weight * formed(line.form, score, best) - missing
            sums[number] = sums.get(number, 0.0) + gain
            if gain > 0 and line.feature not in CIRCUMSTANCES:
                evidence.setdefault(number, []).append((-gain, line.feature))
    sums = {number: score + floor for number, score in sums.items()}
    return sums, {number: [name for _, name in sorted(found)] for number, found in evidence.items()}


def formed(form: Form, score: float, best: float) -> float:
    """Return a score in the form in which it is weighed."""
    if form is Form.PLAIN:
        return min(score, 3.0)
    if form is Form.ROOT:
        return math.sqrt(min(max(score, 0.0), 3.0))
    share = min(score / best, 1.0) if best > 0 else 0.0
    if form is Form.SQUARE:
        return share * share
    if form is Form.LOG:
        return math.log(max(share, 0.05)) if best > 0 else 0.0
    return share


def _log_sum(values: Iterable[float]) -> float:
    found = list(values)
    if not found:
        return 0.0
    best = max(found)
    return best + math.log(sum(math.exp(value - best) for value in found))
