"""Runs a repository's own tests on its trees, in the sandbox, and compares; it judges no change."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from domain.errors import GitError
from domain.ports import Sandbox, SandboxPolicy
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from harness.git import Mirror
from harness.ground import FreshCheckouts
from harness.testing.cases import Observed
from harness.testing.compare import broken, new_failures
from harness.testing.diagnosis import ProblemKind, diagnose
from harness.testing.plan import TestPlan
from harness.testing.run import RunRequest, TestBench
from harness.verify import Baseline, Verifier
from harness.workspace import Workspaces, remove_tree

Limits = Callable[[SandboxPolicy], SandboxPolicy]


class Trial:
    """Test runs on the trees of one mirror. Every method may raise SandboxError and GitError."""

    def __init__(
        self, sandbox: Sandbox, workspaces: Workspaces, mirror: Mirror, limits: Limits | None = None
    ) -> None:
        """Take the sandbox, where checkouts may be made, and the mirror that has the trees."""
        checkouts = FreshCheckouts(workspaces, mirror)
        self.mirror = mirror
        self._verifier = Verifier(sandbox, mirror, checkouts, policy=limits)
        self._bench = TestBench(sandbox, checkouts, policy=limits)

    def config(self, tree: str) -> RepoConfig:
        """Return what the repository's own file in a tree says. Raises ConfigurationError."""
        return parse_repo_config(self.mirror.read_file(tree, FILE_NAME))

    def survey(self, tree: str, config: RepoConfig) -> Baseline:
        """Find how a tree is tested, run its whole suite, and say what keeps it from showing anything."""
        return self._verifier.baseline(tree, config)

    def plan(self, tree: str, config: RepoConfig) -> TestPlan | None:
        """Find how a tree is tested, without a run."""
        return self._bench.detect(tree, config.test, config.working_directory)

    def run_some(self, tree: str, plan: TestPlan, targets: Sequence[str], seconds: float) -> Observed:
        """Run some test files of a tree (none: all); by the plan's fallback where there is no runner."""
        request = RunRequest(
            name="some tests", plan=plan, tree=tree, deadline_seconds=seconds, targets=targets
        )
        observed = self._bench.run(request)
        problem = diagnose(observed)
        if problem is not None and problem.kind is ProblemKind.TOOL_MISSING and plan.fallback is not None:
            return self.run_some(tree, plan.fallback, targets, seconds)
        return observed

    def run(
        self, tree: str, baseline: Baseline, targets: Sequence[str] = (), name: str = "changed"
    ) -> Observed:
        """Run the suite, or some of its files, on another tree of the same repository."""
        if baseline.plan is None:
            raise GitError("there are no tests to run")
        seconds = baseline.section.timeout_seconds
        return self._bench.run(
            RunRequest(name=name, plan=baseline.plan, tree=tree, deadline_seconds=seconds, targets=targets)
        )


def regressions(before: Observed, now: Observed) -> tuple[str, ...]:
    """Return tests that passed and do not any more, or that are new and fail."""
    return (*broken(baseline=before, now=now), *new_failures(baseline=before, now=now))


@contextmanager
def trial_ground(sandbox: Sandbox, mirror: Mirror, owner: tuple[int, int] | None) -> Iterator[Trial]:
    """Yield a trial in a place that is gone afterwards. `owner` is the sandbox's user, if we are root."""
    place = Path(tempfile.mkdtemp(prefix="fixwright-trial-"))
    place.chmod(0o711)
    try:
        yield Trial(sandbox, Workspaces(place, owner, mirror.runner), mirror)
    finally:
        remove_tree(place)
