"""One change under examination: the guard, the runs, and what they show. It proves nothing by itself."""

from __future__ import annotations

from dataclasses import replace

from domain.model import Category, Check, Finding, RunStatus, Verdict
from harness.allowed_tests import still_binding, still_missed
from harness.baseline import Baseline
from harness.control import Control
from harness.document_checks import DocumentChecks
from harness.expected_data import expected_data
from harness.guard.change import Change, Trees
from harness.guard.check import guard
from harness.guard.novelty import only_new, unnamed_novelties
from harness.guard.rh002 import corrected_expectations, edited_tests
from harness.guard.tolerance import EditedTest, Seen, excused
from harness.guard.waivers import waived
from harness.in_source.unbuilt import says_it_twice
from harness.red_reasons import beside_the_point
from harness.refusal import Refusal, both, by_guard, some
from harness.runs import FIXED, OWN_CI, Runs
from harness.steadiness import JUDGED, REPETITIONS, Steadiness
from harness.testing.cases import Case, CaseOutcome, Observed
from harness.testing.compare import (
    Greened,
    broken,
    identity_of,
    is_in,
    is_unbuilt,
    new_failures,
    placed,
    red_cases,
    turned_green,
)
from harness.testing.diagnosis import ProblemKind, diagnose, never_loaded
from harness.testing.paths import is_documentation
from harness.testing.plan import TestPlan
from harness.testing.run import TestBench

MAX_LISTED = 200
_PERHAPS_THE_PLACE = frozenset(
    {
        *(ProblemKind.TOOL_MISSING, ProblemKind.IMPORT, ProblemKind.SERVICE, ProblemKind.TIMEOUT),
        *(ProblemKind.RESOURCES, ProblemKind.UNREADABLE, ProblemKind.PLACE, ProblemKind.VERSION),
    }
)
"""What may be wrong with the place where tests run; a look at the base tells it from the change's fault."""


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
        self._bench = bench
        self._change, self._baseline = change, baseline
        self._category, self._issue_text = category, issue_text
        self._runs = Runs(trees, bench, change, baseline)
        self._steadiness = Steadiness(self._runs, baseline)
        self._control = Control(self._runs, baseline, change.tree)
        self._documents = DocumentChecks(self._runs, change, baseline.docs, baseline.place)
        self._notes: list[str] = []
        self._findings: tuple[Finding, ...] = ()
        self._pending: tuple[EditedTest, ...] = ()
        self._let_go: tuple[EditedTest, ...] = ()
        self._by_data: tuple[Finding, ...] = ()
        self._is_beyond_words = False
        self._left = ""
        self._greened = Greened(tests=())
        self._original: Observed | None = None
        self._fixed: Observed | None = None

    def verdict(self) -> Verdict:
        """Guard first, then the runs; the first thing that is wrong decides."""
        found = guard(self._change, self._category, self._issue_text)
        self._findings = findings = waived(found, self._change.words)
        edits = edited_tests(self._change, self._issue_text) if by_guard(found) else {}
        self._pending = tuple(edits[finding] for finding in findings if finding in edits)
        self._let_go = tuple(edits[each] for each in set(found) - set(findings) if each in edits)
        refusal = by_guard(finding for finding in findings if finding not in edits)
        if refusal is None:
            refusal = self._examine()
            findings = (*excused(findings, edits, self._seen()), *self._by_data)
            self._is_beyond_words = refusal is not None and refusal.is_beyond_words
            refusal = both(by_guard(findings), refusal)
        return self._written(refusal, findings)

    def _seen(self) -> Seen:
        greened = set(self._greened.tests)
        return Seen(
            original=tuple(self._original.cases.values()) if self._original else None,
            greened=[case for case in self._fixed.cases.values() if case.id in greened]
            if self._fixed
            else (),
        )

    def _written(self, refusal: Refusal | None, findings: tuple[Finding, ...]) -> Verdict:
        if self._steadiness.flaky and not (refusal and refusal.flaky_baseline):
            listed = some(self._steadiness.flaky)
            self._notes.append(f"Flaky, since they vary on the unchanged base, and left out: {listed}.")
        allowed = [finding.id for finding in findings if finding.allowed_by]
        if allowed:
            self._notes.append(f"Allowed by a maintainer: {some(allowed)}.")
        summary = refusal.why if refusal else self._success()
        return Verdict(
            verified=refusal is None,
            summary=" ".join([summary, *self._notes]),
            base_sha=self._change.base_commit,
            tree=self._change.tree,
            runs=tuple(self._runs.records),
            findings=findings,
            turned_green=self._greened.tests[:MAX_LISTED],
            broken=refusal.broken[:MAX_LISTED] if refusal else (),
            isolation=self._bench.isolation,
            environment=refusal is not None and refusal.environment,
            flaky=tuple(sorted(self._steadiness.flaky))[:MAX_LISTED],
            flaky_baseline=refusal is not None and refusal.flaky_baseline,
            beyond_words=self._is_beyond_words,
            checks=tuple(filter(None, (*self._documents.made, self._control.check, *self._left_to_ci()))),
        )

    def _left_to_ci(self) -> tuple[Check, ...]:
        """Name what only the repository's own continuous integration can tell, or will."""
        left = {"test suite": self._left}
        if self._baseline.watches_ci:
            left[OWN_CI] = "it is watched once the draft is pushed, and how it ended is said there"
        return tuple(
            Check(name=name, status=RunStatus.LEFT_TO_CI, what=what) for name, what in left.items() if what
        )

    def _success(self) -> str:
        last = next((run for run in reversed(self._runs.records) if run.name == FIXED), None)
        suite = "no tests were run" if last is None else f"{last.passed} tests pass on the changed tree"
        if self._greened.tests:
            return f"{len(self._greened.tests)} failing before and passing now; {suite}, and nothing broke."
        return f"Nothing broke: {suite}."

    def _examine(self) -> Refusal | None:
        if not self._change.deltas:
            return Refusal("The change is empty.")
        if self._category is Category.DOCS and (unfit := self._documents.refusal()):
            return Refusal(unfit)
        documentation_only = all(map(is_documentation, self._change.paths))
        problem = self._baseline.problem
        if problem is not None and problem.kind is not ProblemKind.NO_TESTS:
            if self._category is Category.DOCS and documentation_only:
                self._notes.append(
                    f"The suite does not work here ({problem.kind}); only documentation changed."
                )
                self._left = f"it does not work here ({problem.kind}), and only documentation changed"
                return None
            return Refusal(f"The test environment does not work: {problem.what}", environment=True)
        if problem is not None:
            return self._examine_without_suite(documentation_only)
        plan, baseline = self._baseline.plan, self._baseline.observed
        if plan is None or baseline is None:
            return Refusal("The baseline was not run.")
        return self._examine_with_suite(plan, baseline)

    def _examine_without_suite(self, documentation_only: bool) -> Refusal | None:
        """Judge a change to a repository that had no tests: a bug can still bring the first ones."""
        if self._category is Category.DOCS:
            self._notes.append("The repository has no tests.")
            return None if documentation_only else Refusal("There are no tests to show that nothing broke.")
        if self._category is Category.CHORE:
            return Refusal("There are no tests to show that nothing broke.")
        tree = self._runs.base_with_new_tests()
        plan = self._bench.detect(tree, self._baseline.section, self._baseline.place) if tree else None
        if plan is None:
            return Refusal("The repository has no tests, and the change brings none that show the fault.")
        return self._examine_with_suite(plan, None)

    def _examine_with_suite(self, plan: TestPlan, baseline: Observed | None) -> Refusal | None:
        with_tests = self._runs.new_tests(plan) if self._category is Category.BUG else None
        fixed = self._fixed = self._runs.fixed(plan)
        with_tests = self._turned(plan, baseline, with_tests, fixed)
        refusal = self._suite_refusal(plan, baseline, fixed) or _less_told(baseline or with_tests, fixed)
        if refusal is None and baseline is not None:
            refusal = self._regressions(plan, baseline, fixed)
        if self._category is Category.BUG and (refusal is None or refusal.by_edits):
            refusal = self._not_shown(with_tests, fixed) or refusal or self._unsteady(plan, fixed)
        return refusal or self._unbelievable(plan, fixed)

    def _unbelievable(self, plan: TestPlan, fixed: Observed) -> Refusal | None:
        """Refuse reports that would not have told of a failure."""
        if all(map(is_documentation, self._change.paths)):
            return None
        why = self._control.refusal(plan, fixed, self._greened.tests)
        return Refusal(why) if why else None

    def _turned(
        self, plan: TestPlan, baseline: Observed | None, with_tests: Observed | None, fixed: Observed
    ) -> Observed | None:
        """Look at what turned green, and return the run of the new tests on the base that showed it.

        Where tests inside of sources do not build on the base, those that do are run alone. If these show
        nothing, all count as not loaded, as a test file would.
        """
        touched = self._runs.touched_tests()

        def greened(run: Observed | None) -> Greened:
            return self._deciding(
                turned_green(baseline=baseline, with_tests=run, fixed=fixed, touched=touched)
            )

        self._greened = greened(with_tests)
        if (
            self._greened.tests
            or with_tests is None
            or not self._runs.in_source
            or not is_unbuilt(with_tests)
        ):
            return with_tests
        if says_it_twice(with_tests.output):
            return with_tests
        partly = self._runs.new_tests_that_build(plan, with_tests)
        found = greened(partly) if partly else Greened(tests=())
        if partly and found.tests:
            self._greened = found
            self._notes.append("New tests that do not build without the fix were left out there.")
            return partly
        with_tests = placed(with_tests, fixed, [each.path for each in self._runs.in_source])
        self._greened = greened(with_tests)
        return with_tests

    def _deciding(self, greened: Greened) -> Greened:
        """Keep the tests that the repository knows to vary out of the decision."""
        return replace(greened, tests=self._steadiness.decisive(greened.tests))

    def _suite_refusal(self, plan: TestPlan, baseline: Observed | None, fixed: Observed) -> Refusal | None:
        """Refuse a suite that does not say enough, or in which the change's own tests fail."""
        status = fixed.run.status
        if status not in JUDGED:
            return self._unjudged(plan, fixed)
        own = self._steadiness.decisive(new_failures(baseline=baseline, now=fixed))
        if own:
            return Refusal(f"{len(own)} tests that are new with the change fail: {some(own)}.", own)
        if status is RunStatus.FAILED and (baseline is None or not baseline.run.failed):
            return None if baseline and baseline.has_ids else Refusal("The suite fails on the changed tree.")
        if status is RunStatus.FAILED:
            self._notes.append(f"{fixed.run.failed} tests fail now that failed before the change too.")
        return None

    def _unjudged(self, plan: TestPlan, fixed: Observed) -> Refusal:
        """Refuse a suite that came to no result; where the base now does no better, the place is at fault.

        The base worked when it was measured. What it cannot do any more, no change could bring back.
        """
        run = fixed.run
        why = f"The suite on the changed tree: {run.status} ({run.note})."
        problem = diagnose(fixed)
        if problem is None or problem.kind not in _PERHAPS_THE_PLACE or self._baseline.observed is None:
            return Refusal(why)
        again = self._runs.base_again(plan)
        if again.run.status in JUDGED:
            return Refusal(why)
        return Refusal(
            f"{why} The unchanged base does no better now ({again.run.status}: {again.run.note}), and it did "
            f"before: this is the test environment's fault. {problem.fix}",
            environment=True,
        )

    def _regressions(self, plan: TestPlan, baseline: Observed, fixed: Observed) -> Refusal | None:
        """Refuse what passed before and does not now, with the new tests or with the original ones."""
        original = self._original = self._runs.original_tests(plan)
        missed = broken(baseline=baseline, now=fixed, original=original)
        missed = still_missed(missed, self._findings, fixed.run.failed_ids, self._let_go)
        lost = self._steadiness.blameable(plan, missed)
        refusal: Refusal | None = None
        if lost:
            is_edited = not still_missed(lost, (), fixed.run.failed_ids, self._pending)
            why = f"{len(lost)} tests that passed before do not now: {some(lost)}."
            refusal = Refusal(why, lost, by_edits=is_edited)
        if original is None or (refusal and not refusal.by_edits):
            return refusal
        return self._by_originals(plan, baseline, original) or refusal

    def _by_originals(self, plan: TestPlan, baseline: Observed, original: Observed) -> Refusal | None:
        """Refuse what passed before and does not with the original tests on the changed tree."""
        if original.run.status not in {RunStatus.PASSED, RunStatus.FAILED}:
            return Refusal(f"The original tests on the changed tree: {original.run.status}.")
        corrected = corrected_expectations(self._change, self._issue_text)
        failing = tuple(
            entry
            for entry in broken(baseline=baseline, now=original)
            if not _is_corrected(baseline.cases.get(identity_of(entry)), corrected)
        )
        failing = still_binding(failing, self._findings, self._let_go)
        failing = self._steadiness.blameable(plan, failing)
        rest = still_binding(failing, (), self._pending)
        if rest:
            cases = [baseline.cases.get(identity_of(entry)) for entry in rest]
            known = [case for case in cases if case is not None]
            found = expected_data(self._change, self._runs.taken_back(), known, self._issue_text)
            self._by_data = waived(found, self._change.words)
        if self._by_data and not by_guard(self._by_data):
            failing = tuple(entry for entry in failing if entry not in rest)
        if not failing:
            return None
        why = f"With the original tests, {len(failing)} that passed before do not now: {some(failing)}."
        return Refusal(why, failing, by_edits=not rest or bool(self._by_data))

    def _not_shown(self, with_tests: Observed | None, fixed: Observed) -> Refusal | None:
        """Refuse a bug fix that no test has seen."""
        if self._greened.unloaded:
            where = some(self._greened.unloaded)
            self._notes.append(f"On the base, {where} could not even be loaded: it uses names the fix adds.")
        if self._greened.unfinished:
            self._notes.append("On the base, the new tests do not come to an end.")
        if self._greened.tests:
            return self._shown_by_novelty(with_tests)
        if with_tests is None:
            return Refusal("No test fails without the fix: none was added, and none failed before.")
        if unloaded := never_loaded(with_tests, fixed):
            why = "; ".join(sorted(set(unloaded.values())))
            what = f"{some(unloaded)} cannot be loaded here, with the change or without: {why}."
            return Refusal(f"{what} Mend this where the tests run.", environment=True)
        return Refusal(
            f"The new tests do not fail without the fix ({with_tests.run.status}): they do not show it."
        )

    def _unsteady(self, plan: TestPlan, fixed: Observed) -> Refusal | None:
        """Run the target tests again, on the base and on the fix: chance must not pass for a proof.

        What varies on the base is flaky there, and decides nothing. What varies on the fix alone is its own.
        """
        greened = set(self._greened.tests)
        varied = self._steadiness.varied(plan, fixed, greened, self._control)
        if varied.on_fix:
            return Refusal(
                f"Flaky: {some(varied.on_fix)} came out differently when run again on the same fixed code."
            )
        if varied.times <= REPETITIONS:
            self._notes.append(f"They take long: run {varied.times} times on each side, not more.")
        self._steadiness.flaky |= varied.on_base
        steady = greened - varied.on_base
        if steady:
            self._greened = replace(self._greened, tests=tuple(sorted(steady)))
            return None
        return Refusal(
            f"Flaky: {some(varied.on_base)} came out differently when run again on the very same base. "
            "Whether a change helps cannot be told by a test that varies by itself.",
            flaky_baseline=True,
        )

    def _shown_by_novelty(self, with_tests: Observed | None) -> Refusal | None:
        """Refuse where the new tests fail on the base only for want of names that nobody asked for."""
        red = _red(self._greened, with_tests)
        names = only_new(red, unnamed_novelties(self._change, self._issue_text)) if red else frozenset()
        if red and not names:
            names = beside_the_point(red, self._change, self._issue_text)
        if not names:
            return None
        return Refusal(
            f"Without the fix, the new tests fail only for want of {some(names)}, which the change brings "
            "in and the issue does not name: they do not show the fault that was reported."
        )


def _red(greened: Greened, with_tests: Observed | None) -> list[Case]:
    """Return how the target tests were red; where only their number is known, all that was printed."""
    if with_tests is not None and not with_tests.has_ids and greened.unloaded:
        outcome = CaseOutcome.FAILED
        return [Case(id="", file="", name="", outcome=outcome, message=with_tests.output, collection=True)]
    return red_cases(greened, with_tests)


def _less_told(before: Observed | None, fixed: Observed) -> Refusal | None:
    """Refuse a changed tree on which less is reported than without it: what is printed can be anything."""
    if before is not None and before.has_ids and not fixed.has_ids:
        return Refusal("The suite on the changed tree names no single tests; without the change, it did.")
    if before is not None and before.is_reported and not fixed.is_reported:
        return Refusal(
            "On the changed tree, the runner's own report is missing; without the change, it was there."
        )
    return None


def _is_corrected(case: Case | None, corrected: frozenset[tuple[str, str]]) -> bool:
    """Tell whether the issue itself asked for this test's expectation to change."""
    if case is None:
        return False
    name = case.name.partition("[")[0]
    return any(test in {name, case.name} and is_in(case, [path]) for path, test in corrected)
