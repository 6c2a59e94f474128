"""Single test results as a runner reported them, and what a whole run was seen to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from domain.model import TestRun


class CaseOutcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test. `name` is its id without the file; `collection` says that its file could not be loaded.

    `seconds` is how long it took, 0.0 where the runner does not say. `directory` says that `file` names the
    directory of a package, as with Go.
    """

    id: str
    file: str
    name: str
    outcome: CaseOutcome
    message: str = ""
    collection: bool = False
    seconds: float = 0.0
    directory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a runner's own report says. `cases` is empty where it names no single tests."""

    passed: int
    failed: int
    skipped: int
    cases: Mapping[str, Case]
    note: str = ""


UNREPORTED = "the runner's own report is missing; known by what was printed"
"""The note of a run that was asked for a report, and that only its output speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A test run with the single results behind it and its plain output."""

    run: TestRun
    cases: Mapping[str, Case]
    output: str

    @property
    def has_ids(self) -> bool:
        """Whether single tests can be told apart in this run."""
        return bool(self.cases)

    @property
    def is_reported(self) -> bool:
        """Whether it is known in the best way that its runner has."""
        return self.run.note != UNREPORTED


_WORST_LAST = (CaseOutcome.SKIPPED, CaseOutcome.PASSED, CaseOutcome.FAILED)


def reading_of(cases: Iterable[Case], note: str = "") -> Reading:
    """Count single results; a test that is reported twice counts by its worse outcome."""
    by_id: dict[str, Case] = {}
    for case in cases:
        known = by_id.get(case.id)
        if known is None or _WORST_LAST.index(case.outcome) > _WORST_LAST.index(known.outcome):
            by_id[case.id] = case
    outcomes = [case.outcome for case in by_id.values()]
    return Reading(
        passed=outcomes.count(CaseOutcome.PASSED),
        failed=outcomes.count(CaseOutcome.FAILED),
        skipped=outcomes.count(CaseOutcome.SKIPPED),
        cases=by_id,
        note=note,
    )
