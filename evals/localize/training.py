"""Fits the weights of the full strategy: which of a tree's files did the fix touch, as a choice among all?

A linear model under a softmax over a case's candidates; weights of evidence are never below 0. Plain descent
with a fixed number of steps, so that two runs give the same table. What is chosen is chosen by its figures on
repositories that the weights were not fitted on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from evals.localize.cases import Case
from harness.localize.corpus import Corpus
from harness.localize.features import Features
from harness.localize.rank import formed, part_evidence, rank
from harness.localize.text_scores import Scores
from harness.localize.weights import BY_HAND, CIRCUMSTANCES, Weight, Weights

CANDIDATES = 80
STEPS = 240
STEPS_ELSEWHERE = 120
"""For weights without one repository: they begin at those of all, and have less far to go."""

FILE_RIDGE, PART_RIDGE = 0.01, 0.02
"""How strongly weights of evidence are held towards 0; those of circumstances are not held."""

Evidence = tuple[Corpus, Features]


@dataclass(frozen=True, slots=True)
class Choice:
    """One case: a row of evidence for each candidate, and the rows of those that the fix touched.

    `absent` counts what the fix touched and is no candidate.
    """

    repository: str
    rows: Sequence[Sequence[float]]
    right: Sequence[int]
    absent: int = 0

    def without(self, column: int) -> Choice:
        """Return the case without one kind of evidence."""
        rows = [[*row[:column], *row[column + 1 :]] for row in self.rows]
        return Choice(self.repository, rows, self.right, self.absent)

    def last_place(self, weights: Sequence[float]) -> float:
        """Return the place of that of the right candidates which comes last; infinite if one is absent."""
        if self.absent or not self.right:
            return math.inf
        sums = [sum(map(operator.mul, row, weights)) for row in self.rows]
        lowest = min(sums[number] for number in self.right)
        return 1 + sum(1 for value in sums if value > lowest)


def file_choice(case: Case, evidence: Evidence, lines: Sequence[Weight]) -> Choice:
    """Return a case's best files by plain sums, and those that the fix touched."""
    corpus, features = evidence
    is_product = [not file.aside for file in corpus.files]
    columns = [_column(line, features.files.get(line.feature, {}), is_product) for line in lines]
    candidates = [number for number, file in enumerate(corpus.files) if not file.aside]
    gold = [number for number in candidates if corpus.files[number].path in case.files]
    return _choice(case.repository, candidates, gold, columns, len(case.files))


def part_choice(case: Case, evidence: Evidence, lines: Sequence[Weight], weights: Weights) -> Choice:
    """Return the definitions of a case's best files, and those that the fix touched."""
    corpus, features = evidence
    found = part_evidence(corpus, features, rank(corpus, features, weights).files)
    is_product = [not corpus.is_aside(number) for number in range(len(corpus.parts))]
    columns = [_column(line, found.get(line.feature, {}), is_product) for line in lines]
    candidates = [number for number in sorted(found["file"]) if is_product[number]]
    gold = [
        number
        for number in candidates
        if f"{corpus.files[corpus.file_of[number]].path}:{corpus.parts[number].qualified}" in case.functions
    ]
    return _choice(case.repository, candidates, gold, columns, len(case.functions))


def _choice(
    repository: str,
    candidates: Sequence[int],
    gold: Sequence[int],
    columns: Sequence[Mapping[int, float]],
    touched: int,
) -> Choice:
    plain = {number: sum(column.get(number, 0.0) for column in columns) for number in candidates}
    kept = sorted(candidates, key=lambda number: (-plain[number], number))[:CANDIDATES]
    kept = list(dict.fromkeys([*gold, *kept]))
    rows = [[column.get(number, 0.0) for column in columns] for number in kept]
    return Choice(repository, rows, range(len(gold)), touched - len(gold))


def _column(line: Weight, scores: Scores, counts: Sequence[bool]) -> dict[int, float]:
    best = max((score for number, score in scores.items() if counts[number]), default=0.0)
    missing = formed(line.form, 0.0, best)
    return {number: formed(line.form, score, best) - missing for number, score in scores.items()}


def fit(
    choices: Sequence[Choice],
    lines: Sequence[Weight],
    ridge: float = FILE_RIDGE,
    steps: int = STEPS,
    begin: Sequence[float] | None = None,
) -> list[float]:
    """Return the weights under which the right candidates are likeliest, a little held towards 0."""
    size = len(lines)
    may_be_negative = [line.feature in CIRCUMSTANCES for line in lines]
    known = [choice for choice in choices if len(choice.right)]
    held = [0.0 if free else ridge for free in may_be_negative]
    weights = [0.5] * size if begin is None else list(begin)
    mean, square = [0.0] * size, [0.0] * size
    for step in range(1, steps + 1):
        slope = _slope(known, weights, held)
        rate = 0.1 if step < steps // 2 else 0.02
        for number in range(size):
            mean[number] = 0.9 * mean[number] + 0.1 * slope[number]
            square[number] = 0.999 * square[number] + 0.001 * slope[number] ** 2
            change = mean[number] / (1 - 0.9**step) / (math.sqrt(square[number] / (1 - 0.999**step)) + 1e-8)
            moved = weights[number] - rate * change
            weights[number] = moved if may_be_negative[number] else max(0.0, moved)
    return weights


def _slope(choices: Sequence[Choice], weights: Sequence[float], held: Sequence[float]) -> list[float]:
    slope = list(map(operator.mul, held, weights))
    for choice in choices:
        chances = likelihoods(choice, weights)
        share = 1 / len(choice.right)
        for number, (row, chance) in enumerate(zip(choice.rows, chances, strict=True)):
            pull = (chance - (share if number < len(choice.right) else 0.0)) / len(choices)
            if abs(pull) > 1e-7:
                slope = list(map(operator.add, slope, map(operator.mul, row, repeat(pull))))
    return slope


def likelihoods(choice: Choice, weights: Sequence[float]) -> list[float]:
    """Return every candidate's chance."""
    sums = [sum(map(operator.mul, row, weights)) for row in choice.rows]
    best = max(sums)
    powers = [math.exp(value - best) for value in sums]
    total = sum(powers)
    return [power / total for power in powers]


def surprise(choices: Sequence[Choice], weights: Sequence[float]) -> float:
    """Return the mean negative logarithm of the right candidates' chances: less is better."""
    found = [
        -sum(math.log(max(likelihoods(choice, weights)[right], 1e-12)) for right in choice.right)
        / len(choice.right)
        for choice in choices
        if len(choice.right)
    ]
    return sum(found) / max(1, len(found))


def fit_without(
    repository: str,
    choices: Sequence[Choice],
    lines: Sequence[Weight],
    ridge: float,
    begin: Sequence[float],
) -> list[float]:
    """Return the weights that are fitted on the cases of all other repositories."""
    others = [choice for choice in choices if choice.repository != repository]
    return fit(others, lines, ridge, STEPS_ELSEWHERE, begin)


def with_weights(
    lines: Sequence[Weight], values: Sequence[float], untouched: Sequence[Weight]
) -> tuple[Weight, ...]:
    """Return lines of the table with new weights, and those that are not learned as they are."""
    return (
        *(
            Weight(line.feature, line.form, round(value, 2))
            for line, value in zip(lines, values, strict=True)
        ),
        *untouched,
    )


def learned(lines: Sequence[Weight]) -> list[Weight]:
    """Return the lines that are learned: development cases have no failing test and no history."""
    return [line for line in lines if line.feature not in BY_HAND]
