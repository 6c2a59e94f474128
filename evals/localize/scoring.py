"""Scores of rankings: all that a fix touched among the first k, any of it, and the first one's rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from evals.localize.cases import Case

KS = (1, 3, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a strategy says of a case: ranked paths, ranked "path:Class.method", and what it took."""

    case: str
    files: Sequence[str]
    functions: Sequence[str]
    seconds: float = 0.0
    slice_bytes: int = 0
    tree_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Shares, 0 to 1: `all_of[k]` of cases all of whose places are among the first k, `any_of[k]`, `mrr`."""

    cases: int
    all_of: Mapping[int, float]
    any_of: Mapping[int, float]
    mrr: float


def score(
    cases: Iterable[Case],
    predictions: Mapping[str, Prediction],
    *,
    functions: bool = False,
    chosen: Callable[[Case], bool] = lambda case: True,
) -> Score:
    """Score the chosen cases that have places of the kind; a case without a prediction counts as wrong."""
    ranks = []
    for case in cases:
        gold = case.functions if functions else case.files
        if gold and chosen(case):
            said = predictions.get(case.id)
            ranked = [] if said is None else list(said.functions if functions else said.files)
            ranks.append([ranked.index(place) + 1 if place in ranked else 0 for place in gold])
    count = max(1, len(ranks))
    return Score(
        cases=len(ranks),
        all_of={k: sum(all(0 < rank <= k for rank in found) for found in ranks) / count for k in KS},
        any_of={k: sum(any(0 < rank <= k for rank in found) for found in ranks) / count for k in KS},
        mrr=sum(max((1 / rank for rank in found if rank), default=0.0) for found in ranks) / count,
    )
