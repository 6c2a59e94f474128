"""Verification: runs the tests itself, compares, and is the only maker of a VerifiedChange."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog

from domain.model import Category, Finding, RunStatus, Severity, TestRun, Verdict
from domain.ports import Sandbox, SandboxPolicy
from domain.repo_config import RepoConfig, TestSection
from harness.guard.change import Change, Trees, read_change
from harness.guard.check import guard
from harness.guard.rh002 import corrected_expectations, replaced_expectations
from harness.guard.tolerance import excused
from harness.testing.cases import Observed
from harness.testing.compare import Greened, broken, identity_of, new_failures, same_file, turned_green
from harness.testing.diagnosis import (
    EnvironmentProblem,
    ProblemKind,
    diagnose,
    never_loaded,
    no_tests_found,
)
from harness.testing.paths import is_documentation, is_test_file, is_test_side
from harness.testing.plan import TestPlan
from harness.testing.run import Checkouts, RunRequest, TestBench

BASE, BASE_WITH_TESTS = "base", "base + new tests"
FIXED, FIXED_ORIGINAL_TESTS = "fixed", "fixed, original tests"
BASE_AGAIN = "base, again"
MAX_LISTED = 200
HANG_SECONDS = 20.0
HANG_FACTOR = 5
"""New tests on the base hang if they take longer than this, and than so many runs of its whole suite."""

_log = structlog.get_logger(__name__)
_SEAL = object()


class VerifiedChange:
    """Proof that a change was verified. Publishing a pull request as verified demands one.

    Only `Verifier.verify` can make it; `change.tree` is the very tree that was tested.
    """

    __slots__ = ("change", "verdict")

    change: Change
    verdict: Verdict

    def __init__(self, change: Change, verdict: Verdict, *, seal: object = None) -> None:
        if seal is not _SEAL or not verdict.verified or verdict.tree != change.tree:
            raise TypeError("a VerifiedChange is made by verification only")
        object.__setattr__(self, "change", change)
        object.__setattr__(self, "verdict", verdict)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a VerifiedChange does not change: {name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """How the base commit's own suite does, before any money is spent.

    `plan` and `observed` are None where no tests were found; `problem` is None where the suite works.
    """

    commit: str
    tree: str
    section: TestSection
    plan: TestPlan | None
    observed: Observed | None
    problem: EnvironmentProblem | None

    @property
    def run(self) -> TestRun | None:
        """The base run, if there was one."""
        return self.observed.run if self.observed else None

    @property
    def failing_output(self) -> str:
        """What the suite printed if tests fail on the base: evidence of where the fault is."""
        return self.observed.output if self.observed and self.observed.run.failed_ids else ""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a change is not verified."""

    why: str
    broken: tuple[str, ...] = ()
    environment: bool = False


class Verifier:
    """Tells whether a change does what its category asks, by running the tests in fresh sandboxes."""

    def __init__(
        self,
        sandbox: Sandbox,
        trees: Trees,
        checkouts: Checkouts,
        *,
        policy: Callable[[SandboxPolicy], SandboxPolicy] | None = None,
    ) -> None:
        """Take the sandbox, the mirror that holds the trees, and the maker of fresh checkouts.

        `policy` may adjust each session's limits.
        """
        self._bench = TestBench(sandbox, checkouts, policy=policy)
        self._trees = trees

    def baseline(self, base_commit: str, config: RepoConfig) -> Baseline:
        """Run the base commit's suite once and diagnose it. Raises SandboxError, GitError."""
        tree = self._trees.tree_of(base_commit)
        plan = self._bench.detect(tree, config.test)
        observed: Observed | None = None
        problem: EnvironmentProblem | None = no_tests_found()
        while plan is not None:
            observed = self._run(plan, tree, config.test)
            problem = diagnose(observed)
            if problem is None or problem.kind is not ProblemKind.TOOL_MISSING or plan.fallback is None:
                break
            plan = plan.fallback
        return Baseline(
            commit=base_commit,
            tree=tree,
            section=config.test,
            plan=plan,
            observed=observed,
            problem=problem,
        )

    def read_change(self, base_commit: str, tree: str) -> Change:
        """Read what a tree changes against a commit. Raises GitError."""
        return read_change(self._trees, base_commit, tree)

    def verify(
        self, change: Change, baseline: Baseline, category: Category, issue_text: str = ""
    ) -> VerifiedChange | Verdict:
        """Judge a change. A Verdict that comes back by itself is never verified.

        Raises SandboxError, GitError.
        """
        if change.base_commit != baseline.commit:
            raise ValueError("the baseline is of another commit than the change")
        examination = _Examination(self._trees, self._bench, change, baseline, category, issue_text)
        verdict = examination.verdict()
        _log.info("change judged", tree=change.tree, verified=verdict.verified, summary=verdict.summary)
        return VerifiedChange(change, verdict, seal=_SEAL) if verdict.verified else verdict

    def _run(self, plan: TestPlan, tree: str, section: TestSection) -> Observed:
        return self._bench.run(
            RunRequest(name=BASE, plan=plan, tree=tree, deadline_seconds=section.timeout_seconds)
        )


class _Examination:
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
            refusal = self._not_shown(with_tests, fixed)
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
            return None
        if with_tests is None:
            return _Refusal("No test fails without the fix: none was added, and none failed before.")
        if unloaded := never_loaded(with_tests, fixed):
            why = "; ".join(sorted(set(unloaded.values())))
            what = f"{_some(unloaded)} cannot be loaded here, with the change or without: {why}."
            return _Refusal(f"{what} Mend this where the tests run.", environment=True)
        return _Refusal(
            f"The new tests do not fail without the fix ({with_tests.run.status}): they do not show it."
        )

    # -- runs ---------------------------------------------------------------------------------------

    def _run_new_tests(self, plan: TestPlan) -> Observed | None:
        tree = self._with_new_tests()
        if tree is None:
            return None
        targets = [path for path in self._touched_tests() if self._change.deltas[path].new is not None]
        return self._run(BASE_WITH_TESTS, plan, tree, targets, deadline_seconds=self._patience())

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
