"""How the base commit's own suite does: what every change is measured against."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.model import TestRun
from domain.repo_config import DocsSection, TestSection
from harness.testing.cases import Observed
from harness.testing.diagnosis import EnvironmentProblem
from harness.testing.plan import TestPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """How the base commit's own suite does, before any money is spent.

    `plan` and `observed` are None where no tests were found; `problem` is None where the suite works.
    `place` is the directory of the repository that all is about, "" for its root; `docs` is how its
    documentation is built, and `watches_ci` whether its continuous integration is watched.
    """

    commit: str
    tree: str
    section: TestSection
    plan: TestPlan | None
    observed: Observed | None
    problem: EnvironmentProblem | None
    place: str = ""
    docs: DocsSection = field(default_factory=DocsSection)
    watches_ci: bool = False

    @property
    def run(self) -> TestRun | None:
        """The base run, if there was one."""
        return self.observed.run if self.observed else None

    @property
    def in_words(self) -> str:
        """How the base's own suite does, in a few words."""
        if self.run is None:
            return "no tests found"
        if self.problem is not None:
            return self.problem.what
        return f"{self.run.passed or 0} passed, {self.run.failed or 0} failed"

    @property
    def failing_output(self) -> str:
        """What the suite printed if tests fail on the base: evidence of where the fault is."""
        return self.observed.output if self.observed and self.observed.run.failed_ids else ""
