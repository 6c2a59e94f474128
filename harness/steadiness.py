"""Telling chance from proof: what varies on the same code is flaky, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from domain.model import RunStatus, TestRun
from harness.baseline import Baseline
from harness.control import Control
from harness.runs import BASE, BASE_WITH_TESTS, BASE_WITH_TESTS_AGAIN, Runs
from harness.testing.cases import Observed
from harness.testing.compare import identity_of
from harness.testing.paths import is_test_file
from harness.testing.plan import TestPlan

REPETITIONS = 2
"""How often target tests are run again, before and after the fix: three times in all on each side."""
REPETITION_SECONDS = 120.0
"""What all repetitions together may be expected to take; beyond it there are fewer, and it is said."""

JUDGED = frozenset({RunStatus.PASSED, RunStatus.FAILED})
"""Statuses of a run that came to a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """Target tests that came out differently when run again, on the base and on the fix alone.

    `times` is how often each side was run in all; 1 means that nothing was repeated.
    """

    on_base: frozenset[str]
    on_fix: frozenset[str]
    times: int


class Steadiness:
    """Looks for tests that vary. `flaky` gathers all that were found, or are known, to."""

    def __init__(self, runs: Runs, baseline: Baseline) -> None:
        self._runs, self._baseline = runs, baseline
        self.flaky: set[str] = set()

    def decisive(self, identities: Iterable[str]) -> tuple[str, ...]:
        """Return the tests without those that the repository itself lists as flaky."""
        kept = []
        for identity in identities:
            if any(fnmatchcase(identity, pattern) for pattern in self._baseline.section.flaky):
                self.flaky.add(identity)
            else:
                kept.append(identity)
        return tuple(kept)

    def blameable(self, plan: TestPlan, entries: tuple[str, ...]) -> tuple[str, ...]:
        """Return the entries of `broken` that the change may be blamed for: those steady on the base."""
        deciding = set(self.decisive(map(identity_of, entries)))
        left = tuple(entry for entry in entries if identity_of(entry) in deciding)
        base = self._baseline.observed
        if not left or base is None or not base.has_ids:
            return left
        targets = self._files_of(map(identity_of, left))
        for _ in range(self._times(base.run.seconds)):
            again = self._runs.base_again(plan, targets)
            if again.run.status not in JUDGED:
                break
            flaky = {entry for entry in left if identity_of(entry) not in again.run.passed_ids}
            flaky &= {entry for entry in left if identity_of(entry) in base.run.passed_ids}
            self.flaky |= set(map(identity_of, flaky))
            left = tuple(entry for entry in left if entry not in flaky)
            if not left:
                break
        return left

    def varied(self, plan: TestPlan, fixed: Observed, targets: Iterable[str], control: Control) -> Varied:
        """Run the target tests again, on the base and on the fix; the last time with the control."""
        wanted = frozenset(targets)
        first = self._runs.named(BASE_WITH_TESTS, BASE)
        nothing = Varied(on_base=frozenset(), on_fix=frozenset(), times=REPETITIONS + 1)
        if first is None or wanted.isdisjoint(first.failed_ids):
            return nothing
        times = REPETITIONS
        while times and times * (first.seconds + fixed.run.seconds) > REPETITION_SECONDS:
            times -= 1
        on_base = self._varied_on_base(plan, first, wanted, times)
        on_fix: frozenset[str] = frozenset()
        files = self._runs.targets() if first.name == BASE_WITH_TESTS else self._files_of(wanted)
        for turn in range(times if wanted - on_base else 0):
            again = control.repetition(plan, fixed, wanted, files) if turn == times - 1 else None
            on_fix |= wanted & (again or self._runs.fixed_again(plan, files)).run.failed_ids
        return Varied(on_base=on_base, on_fix=on_fix - on_base, times=times + 1)

    def _varied_on_base(
        self, plan: TestPlan, first: TestRun, wanted: frozenset[str], times: int
    ) -> frozenset[str]:
        varied: frozenset[str] = frozenset()
        for _ in range(times):
            if first.name == BASE_WITH_TESTS:
                again = self._runs.new_tests(plan, BASE_WITH_TESTS_AGAIN)
            else:
                again = self._runs.base_again(plan, self._files_of(wanted))
            varied |= wanted & again.run.passed_ids if again else frozenset()
        return varied

    def _times(self, seconds: float) -> int:
        return max(1, min(REPETITIONS, int(REPETITION_SECONDS / max(seconds, 0.1))))

    def _files_of(self, identities: Iterable[str]) -> list[str]:
        """Return the files of the baseline's tests, or none (the whole suite) where one is not known."""
        base = self._baseline.observed
        known = base.cases if base else {}
        files = {known[identity].file if identity in known else "" for identity in identities}
        return sorted(files) if all(map(is_test_file, files)) else []
