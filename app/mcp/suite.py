"""The repository's own tests as the check of a transaction: run before and after, in the sandbox."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from app.settings import load_worker_settings
from domain.errors import ConfigurationError, GitError, PolicyRefusal
from domain.model import RunStatus
from domain.ports import Sandbox
from harness.git.borrowed import Checkout, looking_at
from harness.testing.cases import Observed
from harness.trial import regressions, trial_ground
from harness.verify import Baseline
from harness.workspace import CheckResult

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class SuiteCheck:
    """How the suite did before the change; called with the changed tree, it tells whether that holds."""

    sandbox: Sandbox
    owner: tuple[int, int] | None
    baseline: Baseline
    observed: Observed

    @classmethod
    def before(cls, root: Path) -> SuiteCheck:
        """Run the suite on the tree as it is. Raises ConfigurationError, SandboxError."""
        settings = load_worker_settings()
        from app.work import sandbox_for

        sandbox = sandbox_for(settings)
        owner = (settings.sandbox_uid, settings.sandbox_uid) if os.geteuid() == 0 else None
        with (
            looking_at(root, upwards=False) as checkout,
            trial_ground(sandbox, checkout.mirror, owner) as trial,
        ):
            tree = _tree(checkout)
            baseline = trial.survey(tree, trial.config(tree))
        if baseline.problem is not None or baseline.observed is None:
            problem = baseline.problem
            what = f"{problem.what} {problem.fix}" if problem else "it shows nothing"
            raise ConfigurationError(f"run_tests: the tests cannot be run on the tree as it is: {what}")
        return cls(sandbox, owner, baseline, baseline.observed)

    def __call__(self, root: Path) -> CheckResult:
        """Run the suite on the changed tree, and compare."""
        with (
            looking_at(root, upwards=False) as checkout,
            trial_ground(self.sandbox, checkout.mirror, self.owner) as trial,
        ):
            now = trial.run(_tree(checkout), self.baseline)
        bad = regressions(self.observed, now)
        counts = f"{now.run.passed or 0} passed, {now.run.failed or 0} failed"
        if bad:
            more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
            return CheckResult(passed=False, summary=f"{counts}; broken: {', '.join(bad[:_SHOWN])}{more}")
        if now.run.status not in {RunStatus.PASSED, RunStatus.FAILED}:
            return CheckResult(
                passed=False, summary=f"the tests {now.run.status} with the change: {now.run.note}"
            )
        return CheckResult(passed=True, summary=f"{counts}; none that passed before fails")


def _tree(checkout: Checkout) -> str:
    """Return the whole working copy as a tree. Raises ConfigurationError."""
    try:
        head = checkout.mirror.tree_of(checkout.commit("HEAD"))
    except GitError:
        head = checkout.as_it_is(())
    try:
        return checkout.mirror.snapshot(checkout.root, head).tree
    except PolicyRefusal as refusal:
        raise ConfigurationError(f"run_tests: the tree cannot be tested: {refusal}") from None
