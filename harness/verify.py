"""Verification: runs the tests itself, compares, and is the only maker of a VerifiedChange."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from domain.model import Category, Verdict
from domain.ports import Sandbox, SandboxPolicy
from domain.repo_config import RepoConfig, TestSection
from harness.baseline import Baseline
from harness.examination import Examination
from harness.guard.change import Change, Trees, read_change
from harness.kept_baselines import Circumstances, KeptBaselines
from harness.runs import BASE
from harness.testing.cases import Observed
from harness.testing.diagnosis import EnvironmentProblem, ProblemKind, diagnose, no_tests_found
from harness.testing.left_out import with_left_out
from harness.testing.plan import TestPlan
from harness.testing.run import Checkouts, RunRequest, TestBench

__all__ = ["Baseline", "VerifiedChange", "Verifier"]

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


class Verifier:
    """Tells whether a change does what its category asks, by running the tests in fresh sandboxes."""

    def __init__(
        self,
        sandbox: Sandbox,
        trees: Trees,
        checkouts: Checkouts,
        *,
        policy: Callable[[SandboxPolicy], SandboxPolicy] | None = None,
        kept: KeptBaselines | None = None,
    ) -> None:
        """Take the sandbox, the mirror that holds the trees, and the maker of fresh checkouts.

        `policy` may adjust each session's limits; `kept` are baselines that need not be run again.
        """
        self._kept = kept
        self._bench = TestBench(sandbox, checkouts, policy=policy)
        self._trees = trees

    @property
    def bench(self) -> TestBench:
        """Where its runs are made, with what was set up for them."""
        return self._bench

    def baseline(self, base_commit: str, config: RepoConfig) -> Baseline:
        """Run the base's suite once, or find it kept, and diagnose it. Raises SandboxError, GitError."""
        tree = self._trees.tree_of(base_commit)
        place = config.working_directory
        survey = self._bench.survey(tree, config.test, place, look_at_tools=self._kept is not None)
        plan = survey.plan
        observed: Observed | None = None
        problem: EnvironmentProblem | None = no_tests_found()
        while plan is not None:
            observed = self._observed(plan, tree, config.test, survey.toolkit)
            problem = diagnose(observed)
            if problem is None or problem.kind is not ProblemKind.TOOL_MISSING or plan.fallback is None:
                break
            plan = plan.fallback
        problem = with_left_out(problem, observed, lambda path: self._text(tree, path))
        return Baseline(
            commit=base_commit,
            tree=tree,
            section=config.test,
            place=place,
            docs=config.docs,
            watches_ci=config.ci_monitor.enabled,
            plan=plan,
            observed=observed,
            problem=problem,
        )

    def _text(self, tree: str, path: str) -> str:
        return (self._trees.read_file(tree, path) or b"").decode("utf-8", "replace")

    def plan(self, base_commit: str, config: RepoConfig) -> TestPlan | None:
        """Return how the base's suite would be run; nothing is. Raises GitError."""
        return self._bench.detect(self._trees.tree_of(base_commit), config.test, config.working_directory)

    def _observed(self, plan: TestPlan, tree: str, section: TestSection, toolkit: str) -> Observed:
        """Return the suite's run; one that shows a broken environment is not kept: it may be mended."""
        if self._kept is None:
            return self._run(plan, tree, section)
        circumstances = Circumstances(
            tree=tree,
            plan=plan,
            timeout_seconds=section.timeout_seconds,
            isolation=self._bench.isolation,
            limits=self._bench.limits,
            toolkit=toolkit,
        )
        found = self._kept.find(circumstances)
        if found is not None:
            return found
        observed = self._run(plan, tree, section)
        if diagnose(observed) is None:
            self._kept.keep(circumstances, observed)
        return observed

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
        examination = Examination(self._trees, self._bench, change, baseline, category, issue_text)
        verdict = examination.verdict()
        _log.info("change judged", tree=change.tree, verified=verdict.verified, summary=verdict.summary)
        return VerifiedChange(change, verdict, seal=_SEAL) if verdict.verified else verdict

    def _run(self, plan: TestPlan, tree: str, section: TestSection) -> Observed:
        return self._bench.run(
            RunRequest(name=BASE, plan=plan, tree=tree, deadline_seconds=section.timeout_seconds)
        )
