"""One change under examination: the guard, the runs, and what they show. It proves nothing by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain.model import Category, Finding, RunStatus, Severity, TestRun, Verdict
from harness.baseline import Baseline
from harness.guard.change import Change, Trees
from harness.guard.check import guard
from harness.guard.novelty import only_new, unnamed_novelties
from harness.guard.rh002 import corrected_expectations, replaced_expectations
from harness.guard.tolerance import excused
from harness.testing.cases import Observed
from harness.testing.compare import (
    Greened,
    broken,
    identity_of,
    new_failures,
    red_cases,
    same_file,
    turned_green,
)
from harness.testing.diagnosis import ProblemKind, never_loaded
from harness.testing.paths import is_documentation, is_test_file, is_test_side
from harness.testing.plan import TestPlan
from harness.testing.run import RunRequest, TestBench

BASE, BASE_WITH_TESTS = "base", "base + new tests"
FIXED, FIXED_ORIGINAL_TESTS = "fixed", "fixed, original tests"
BASE_AGAIN = "base, again"
MAX_LISTED = 200
BASE_WITH_TESTS_AGAIN, FIXED_AGAIN = "base + new tests, again", "fixed, new tests again"
LONGEST_REPETITION = 10.0
"""Seconds; new tests that take longer are not run a second time."""
HANG_SECONDS = 20.0
HANG_FACTOR = 5
"""New tests on the base hang if they take longer than this, and than so many runs of its whole suite."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a change is not verified."""

    why: str
    broken: tuple[str, ...] = ()
    environment: bool = False


class Examination:
    """One change under examination: which runs were made, and what they showed."""

    def __init__(
        self,
        trees: Trees,
        bench: TestBench,
        change: Change,
        baseline: Baseline,
        category: Category,
        issue_text: str,
    ) -> None:
        self._trees, self._bench = trees, bench
        self._change, self._baseline = change, baseline
        self._category, self._issue_text = category, issue_text
        self._runs: list[TestRun] = [baseline.run] if baseline.run else []
        self._notes: list[str] = []
        self._greened = Greened(tests=())
        self._original: Observed | None = None

    def verdict(self) -> Verdict:
        """Guard first, then the runs; the first thing that is wrong decides."""
        findings = guard(self._change, self._category, self._issue_text)
        replaced = replaced_expectations(self._change, self._issue_text)
        refusal = _by_guard(finding for finding in findings if finding not in replaced)
        if refusal is None:
            refusal = self._examine()
            findings = excused(findings, replaced, self._original.cases.values() if self._original else ())
            refusal = refusal or _by_guard(findings)
        return self._written(refusal, findings)

    def _written(self, refusal: _Refusal | None, findings: tuple[Finding, ...]) -> Verdict:
        summary = refusal.why if refusal else self._success()
        return Verdict(
            verified=refusal is None,
            summary=" ".join([summary, *self._notes]),
            base_sha=self._change.base_commit,
            tree=self._change.tree,
            runs=tuple(self._runs),
            findings=findings,
            turned_green=self._greened.tests[:MAX_LISTED],
            broken=refusal.broken[:MAX_LISTED] if refusal else (),
            isolation=self._bench.isolation,
            environment=refusal is not None and refusal.environment,
        )

    def _success(self) -> str:
        last = next((run for run in reversed(self._runs) if run.name == FIXED), None)
        suite = "no tests were run" if last is None else f"{last.passed} tests pass on the changed tree"
        if self._greened.tests:
            return f"{len(self._greened.tests)} failing before and passing now; {suite}, and nothing broke."
        return f"Nothing broke: {suite}."

    def _examine(self) -> _Refusal | None:
        if not self._change.deltas:
            return _Refusal("The change is empty.")
        documentation_only = all(map(is_documentation, self._change.paths))
        problem = self._baseline.problem
        if problem is not None and problem.kind is not ProblemKind.NO_TESTS:
            if self._category is Category.DOCS and documentation_only:
                self._notes.append(
                    f"The suite does not work here ({problem.kind}); only documentation changed."
                )
                return None
            return _Refusal(f"The test environment does not work: {problem.what}", environment=True)
        if problem is not None:
            return self._examine_without_suite(documentation_only)
        plan, baseline = self._baseline.plan, self._baseline.observed
        if plan is None or baseline is None:
            return _Refusal("The baseline was not run.")
        return self._examine_with_suite(plan, baseline)

    def _examine_without_suite(self, documentation_only: bool) -> _Refusal | None:
        """Judge a change to a repository that had no tests: a bug can still bring the first ones."""
        if self._category is Category.DOCS:
            self._notes.append("The repository has no tests.")
            return None if documentation_only else _Refusal("There are no tests to show that nothing broke.")
        if self._category is Category.CHORE:
            return _Refusal("There are no tests to show that nothing broke.")
        tree = self._with_new_tests()
        plan = self._bench.detect(tree, self._baseline.section) if tree else None
        if plan is None:
            return _Refusal("The repository has no tests, and the change brings none that show the fault.")
        return self._examine_with_suite(plan, None)

    def _examine_with_suite(self, plan: TestPlan, baseline: Observed | None) -> _Refusal | None:
        with_tests = self._run_new_tests(plan) if self._category is Category.BUG else None
        fixed = self._run(FIXED, plan, self._change.tree)
        self._greened = turned_green(
            baseline=baseline, with_tests=with_tests, fixed=fixed, touched=self._touched_tests()
        )
        refusal = self._suite_refusal(baseline, fixed)
        if refusal is None and baseline is not None:
            refusal = self._regressions(plan, baseline, fixed)
        if refusal is None and self._category is Category.BUG:
            refusal = self._not_shown(with_tests, fixed) or self._unsteady(plan)
        return refusal

    def _suite_refusal(self, baseline: Observed | None, fixed: Observed) -> _Refusal | None:
        """Refuse a suite that does not say enough, or in which the change's own tests fail."""
        status = fixed.run.status
        if status not in {RunStatus.PASSED, RunStatus.FAILED}:
            return _Refusal(f"The suite on the changed tree: {status} ({fixed.run.note}).")
        if baseline is not None and baseline.has_ids and not fixed.has_ids:
            return _Refusal("The suite on the changed tree names no single tests; the baseline did.")
        own = new_failures(baseline=baseline, now=fixed)
        if own:
            return _Refusal(f"{len(own)} tests that are new with the change fail: {_some(own)}.", own)
        if status is RunStatus.FAILED and (baseline is None or not baseline.run.failed):
            return None if baseline and baseline.has_ids else _Refusal("The suite fails on the changed tree.")
        if status is RunStatus.FAILED:
            self._notes.append(f"{fixed.run.failed} tests fail now that failed before the change too.")
        return None

    def _regressions(self, plan: TestPlan, baseline: Observed, fixed: Observed) -> _Refusal | None:
        """Refuse what passed before and does not now, with the new tests or with the original ones."""
        original = self._original = self._run_original_tests(plan)
        lost = self._without_flaky(plan, broken(baseline=baseline, now=fixed, original=original))
        if lost:
            return _Refusal(f"{len(lost)} tests that passed before do not now: {_some(lost)}.", lost)
        if original is None:
            return None
        if original.run.status not in {RunStatus.PASSED, RunStatus.FAILED}:
            return _Refusal(f"The original tests on the changed tree: {original.run.status}.")
        corrected = corrected_expectations(self._change, self._issue_text)
        failing = tuple(
            entry
            for entry in broken(baseline=baseline, now=original)
            if not _is_corrected(identity_of(entry), corrected)
        )
        failing = self._without_flaky(plan, failing)
        if failing:
            return _Refusal(
                f"With the original tests, {len(failing)} that passed before do not now: {_some(failing)}.",
                failing,
            )
        return None

    def _without_flaky(self, plan: TestPlan, entries: tuple[str, ...]) -> tuple[str, ...]:
        """Run the base again before blaming the change: a test that varies there proves nothing."""
        if not entries or self._baseline.observed is None or not self._baseline.observed.has_ids:
            return entries
        again = self._run(BASE_AGAIN, plan, self._baseline.tree)
        steady = tuple(entry for entry in entries if identity_of(entry) in again.run.passed_ids)
        flaky = sorted(set(entries) - set(steady))
        if flaky and again.run.status in {RunStatus.PASSED, RunStatus.FAILED}:
            self._notes.append(f"Flaky, since they vary on the unchanged base: {_some(flaky)}.")
            return steady
        return entries

    def _not_shown(self, with_tests: Observed | None, fixed: Observed) -> _Refusal | None:
        """Refuse a bug fix that no test has seen."""
        if self._greened.unloaded:
            where = _some(self._greened.unloaded)
            self._notes.append(f"On the base, {where} could not even be loaded: it uses names the fix adds.")
        if self._greened.unfinished:
            self._notes.append("On the base, the new tests do not come to an end.")
        if self._greened.tests:
            return self._shown_by_novelty(with_tests)
        if with_tests is None:
            return _Refusal("No test fails without the fix: none was added, and none failed before.")
        if unloaded := never_loaded(with_tests, fixed):
            why = "; ".join(sorted(set(unloaded.values())))
            what = f"{_some(unloaded)} cannot be loaded here, with the change or without: {why}."
            return _Refusal(f"{what} Mend this where the tests run.", environment=True)
        return _Refusal(
            f"The new tests do not fail without the fix ({with_tests.run.status}): they do not show it."
        )

    def _unsteady(self, plan: TestPlan) -> _Refusal | None:
        """Run the new tests once more, on the base and on the fix: chance must not pass for a proof."""
        first = next((run for run in self._runs if run.name == BASE_WITH_TESTS), None)
        greened = set(self._greened.tests)
        if first is None or first.seconds > LONGEST_REPETITION or greened.isdisjoint(first.failed_ids):
            return None
        red = self._run_new_tests(plan, BASE_WITH_TESTS_AGAIN)
        varying = greened & red.run.passed_ids if red else set()
        if not varying:
            green = self._run(FIXED_AGAIN, plan, self._change.tree, self._targets())
            varying = greened & green.run.failed_ids
        if not varying:
            return None
        return _Refusal(f"Flaky: {_some(varying)} came out differently when the new tests were run again.")

    def _shown_by_novelty(self, with_tests: Observed | None) -> _Refusal | None:
        """Refuse where the new tests fail on the base only for want of names that nobody asked for."""
        red = red_cases(self._greened, with_tests)
        names = only_new(red, unnamed_novelties(self._change, self._issue_text)) if red else frozenset()
        if not names:
            return None
        return _Refusal(
            f"Without the fix, the new tests fail only for want of {_some(names)}, which the change brings "
            "in and the issue does not name: they do not show the fault that was reported."
        )

    # -- runs ---------------------------------------------------------------------------------------

    def _run_new_tests(self, plan: TestPlan, name: str = BASE_WITH_TESTS) -> Observed | None:
        tree = self._with_new_tests()
        if tree is None:
            return None
        return self._run(name, plan, tree, self._targets(), deadline_seconds=self._patience())

    def _targets(self) -> list[str]:
        return [path for path in self._touched_tests() if self._change.deltas[path].new is not None]

    def _run_original_tests(self, plan: TestPlan) -> Observed | None:
        """Run the original tests on the new code, if the change touches any that were there."""
        deltas = self._change.deltas
        side = [path for path in self._change.paths if is_test_side(path)]
        existing = [path for path in side if deltas[path].old is not None]
        support = [path for path in side if not is_test_file(path)]
        if not existing and not support:
            return None
        tree = self._trees.overlay(self._change.tree, self._change.base_tree, side)
        return self._run(FIXED_ORIGINAL_TESTS, plan, tree)

    def _with_new_tests(self) -> str | None:
        """Return the base tree with the change's new and changed tests, or None if it has no tests."""
        deltas = self._change.deltas
        if not any(deltas[path].new is not None for path in self._touched_tests()):
            return None
        paths = [path for path in self._change.paths if is_test_side(path) and deltas[path].new is not None]
        return self._trees.overlay(self._change.base_tree, self._change.tree, paths)

    def _touched_tests(self) -> list[str]:
        return [path for path in self._change.paths if is_test_file(path)]

    def _patience(self) -> float:
        """Return how many seconds the new tests may take on the base: a fault may show as a hang."""
        longest = float(self._baseline.section.timeout_seconds)
        run = self._baseline.run
        return longest if run is None else min(longest, max(HANG_SECONDS, run.seconds * HANG_FACTOR))

    def _run(
        self,
        name: str,
        plan: TestPlan,
        tree: str,
        targets: Iterable[str] = (),
        *,
        deadline_seconds: float | None = None,
    ) -> Observed:
        deadline = deadline_seconds or self._baseline.section.timeout_seconds
        observed = self._bench.run(
            RunRequest(name=name, plan=plan, tree=tree, deadline_seconds=deadline, targets=tuple(targets))
        )
        self._runs.append(observed.run)
        return observed


def _by_guard(findings: Iterable[Finding]) -> _Refusal | None:
    """Refuse by the first critical finding, if there is one."""
    first = next((finding for finding in findings if finding.severity is Severity.CRITICAL), None)
    return _Refusal(f"{first.rule} in {first.path}: {first.what}") if first else None


def _some(names: Iterable[str]) -> str:
    """Name the first few of a list."""
    listed = sorted(names)
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return ", ".join(f"`{name}`" for name in listed[:5]) + more


def _is_corrected(identity: str, corrected: frozenset[tuple[str, str]]) -> bool:
    """Tell whether the issue itself asked for this test's expectation to change."""
    file, _, name = identity.partition("::")
    return any(same_file(path, file) and name.partition("[")[0] == test for path, test in corrected)
