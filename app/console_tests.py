"""The harness' runs as a table: which test was red and which green, before the change and after it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from domain.model import TestRun, Verdict

MOST_ROWS = 200
"""Tests that a table names; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRow:
    """One test: what came of it ("red", "green" or "" for not run) in each run, and what that means."""

    __test__ = False

    name: str
    results: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTable:
    """The tests that differ between the runs; `more` counts those left out."""

    __test__ = False

    runs: tuple[TestRun, ...]
    rows: tuple[TestRow, ...]
    more: int = 0


def tests_of(verdict: Verdict) -> TestTable:
    """Return the table of a verdict: turned green, broken and flaky first, then whatever is red anywhere."""
    meanings: dict[str, str] = {}
    for name in verdict.turned_green:
        meanings.setdefault(name, "red → green")
    for name in verdict.broken:
        meanings.setdefault(name, "green → red")
    for name in verdict.flaky:
        meanings.setdefault(name, "varies")
    for run in verdict.runs:
        for name in sorted(run.failed_ids):
            meanings.setdefault(name, "red")
    names = list(meanings)
    rows = tuple(
        TestRow(name=name, results=tuple(_result(run, name) for run in verdict.runs), meaning=meanings[name])
        for name in names[:MOST_ROWS]
    )
    return TestTable(runs=verdict.runs, rows=rows, more=max(0, len(names) - MOST_ROWS))


def _result(run: TestRun, name: str) -> str:
    if name in run.failed_ids:
        return "red"
    return "green" if name in run.passed_ids else ""
