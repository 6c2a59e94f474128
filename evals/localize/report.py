"""What the figures say, in lines and tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from evals.localize.cases import Case
from evals.localize.scoring import KS, Prediction, Score, score

GROUPS: Mapping[str, Callable[[Case], bool]] = {
    "all": lambda case: True,
    "names the file": lambda case: case.names_the_file,
    "does not name it": lambda case: not case.names_the_file,
    "two files": lambda case: len(case.files) == 2,
}
"""Confounds stand apart: an issue that names the file to fix is easy."""


def score_lines(cases: Sequence[Case], said: Mapping[str, Prediction]) -> Iterator[str]:
    """Yield the scores of one strategy: files by group and repository, and functions."""
    for name, chosen in GROUPS.items():
        yield _line(f"files, {name}", score(cases, said, chosen=chosen))
    for repository in sorted({case.repository for case in cases}):
        found = score(cases, said, chosen=lambda case, name=repository: case.repository == name)  # type: ignore[misc]
        yield _line(f"files, {repository}", found)
    yield _line("functions", score(cases, said, functions=True))


def _line(name: str, found: Score) -> str:
    all_of = "/".join(f"{100 * found.all_of[k]:.1f}" for k in KS)
    any_of = "/".join(f"{100 * found.any_of[k]:.1f}" for k in KS)
    return f"{name:28s} {found.cases:4d}  all {all_of:20s} any {any_of:20s} mrr {100 * found.mrr:.1f}"
