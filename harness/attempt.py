"""One attempt, as a straight line: prepare, set up, baseline, localize, agent, snapshot, guard, verify.

No publishing and no database here: what happens is told to a Journal, what came out is the return value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from domain.claim import Claim
from domain.errors import (
    AgentFailure,
    CapReached,
    ConfigurationError,
    FixwrightError,
    ModelRefused,
    PolicyRefusal,
    ProviderUnavailable,
    SandboxError,
    Stopped,
)
from domain.model import Category, Outcome, Reason
from domain.ports import Meter
from domain.repo_config import RepoConfig
from harness.assignment import Assignment
from harness.equipment import Equipment, Equipped
from harness.git import Snapshot
from harness.ground import Ground, Preparation
from harness.inspection import Inspection
from harness.journal import Journal, PhaseNote
from harness.order import AttemptResult, Bench, Ended, Order, Progress, as_it_is
from harness.reproduction import Reproduction, is_nothing_to_change
from harness.setup.detect import CURABLE
from harness.setup.failure import HINT
from harness.testing.diagnosis import EnvironmentProblem, ProblemKind
from harness.verify import Baseline

__all__ = ["AttemptResult", "AttemptRun", "Bench", "Order"]

_FAILURES: tuple[tuple[type[FixwrightError], Outcome, Reason | None], ...] = (
    (Stopped, Outcome.INTERRUPTED, None),
    (ProviderUnavailable, Outcome.TRANSIENT, None),
    (ModelRefused, Outcome.INTERRUPTED, None),
    (AgentFailure, Outcome.DECLINED, Reason.ENVIRONMENT),
    (SandboxError, Outcome.DECLINED, Reason.SANDBOX),
    (ConfigurationError, Outcome.DECLINED, Reason.CONFIG),
    (PolicyRefusal, Outcome.REFUSED, Reason.PROTECTED_PATH),
)
"""What a deliberate failure of a part means for the attempt; the first that fits counts."""

_BROKEN_BY_A_STOP = (AgentFailure, SandboxError)
"""What a stop in the middle may look like from where it hit."""


@dataclass(slots=True)
class AttemptRun:
    """Runs one order to its end. `run` is called once."""

    bench: Bench
    order: Order
    meter: Meter
    journal: Journal
    known: Progress = field(default_factory=Progress)

    def run(self) -> AttemptResult:
        """Work the order through; every deliberate failure of a part becomes an outcome, with its reason.

        Raises GitError, StoreUnavailable, StaleWrite.
        """
        try:
            self._refuse_without_budget()
            if self.journal.past_claim() is None:
                self.bench.agent.prestart()
            self._line()
        except Ended as end:
            return self._result(end.outcome, end.reason, end.detail)
        except tuple(kind for kind, _, _ in _FAILURES) as error:
            result = self._result(*self._meaning(error), str(error))
            asked = error.retry_after if isinstance(error, ProviderUnavailable) else None
            return replace(result, retry_after=asked, model_refused=isinstance(error, ModelRefused))
        finally:
            self.bench.agent.close()
        return self._result(Outcome.VERIFIED, None, "")

    def _line(self) -> None:
        with self.journal.phase("prepare") as note:
            ground = Preparation(self.bench, self.order, self.journal).prepare()
            note.text = ground.remark.partition("\n")[0]
        if ground.remark:
            self.journal.remark(ground.remark)
        try:
            self.known.start, self.known.house = ground.start, ground.house
            self.known.most_attempts = ground.config.max_attempts
            self._on(ground)
        finally:
            ground.workspace.remove()

    def _on(self, ground: Ground) -> None:
        self._heed_wishes(ground.config)
        self._refuse_without_budget()
        with Equipment(self.bench, self.order, ground, self.journal).equip() as equipped:
            self.known.prepared = equipped.prepared.note
            self._with(equipped, ground)

    def _with(self, equipped: Equipped, ground: Ground) -> None:
        baseline = equipped.baseline
        self._refuse_broken_environment(baseline, ground.category)
        inspection = Inspection(self.order, ground, self.journal, self.known, self.bench.protected)
        self.known.claim = (
            self.journal.past_claim()
            or self._claim_of_unpublished(ground)
            or self._work(equipped, ground, inspection)
        )
        snapshot = inspection.left()
        if is_nothing_to_change(self.known.claim, inspection.changed(snapshot)):
            with self._explained_phase("reproduce"):
                self._show_nothing_to_change(equipped, ground, inspection, snapshot)
        with self._explained_phase("check"):
            snapshot = inspection.check(self.bench.sandbox.isolation)
        with self._explained_phase("verify") as note:
            note.text = inspection.verify(equipped.verifier, baseline, snapshot)

    def _show_nothing_to_change(
        self, equipped: Equipped, ground: Ground, inspection: Inspection, snapshot: Snapshot
    ) -> NoReturn:
        """End with what the harness itself saw of the code as it is. Raises Ended, SandboxError, GitError."""
        claim = self.known.claim
        assert claim is not None, "an agent that ended without a report does not come here"
        shown = Reproduction(
            mirror=ground.mirror,
            verifier=equipped.verifier,
            baseline=equipped.baseline,
            claim=claim,
            snapshot=snapshot,
            isolation=self.bench.sandbox.isolation,
            may_run=self.bench.agent_session is as_it_is,
        )
        verdict, end = shown.judge()
        inspection.seen(verdict)
        raise end

    @contextmanager
    def _explained_phase(self, name: str) -> Iterator[PhaseNote]:
        """Open a phase whose note says why, where it ends the attempt."""
        with self.journal.phase(name) as note:
            try:
                yield note
            except Ended as end:
                note.text = end.detail
                raise

    def _refuse_without_budget(self) -> None:
        """Stop before the tests are run, where nothing may be spent at all.

        What was begun goes on: it may need no money any more, and its unfinished work has to be kept.
        """
        if self.journal.past_claim() or self.journal.past_steps() or self.order.unpublished:
            return
        try:
            self.meter.check()
        except CapReached as refusal:
            if refusal.limit.is_daily:
                raise Ended(Outcome.DAILY_LIMIT, None, str(refusal)) from None
            raise Ended(Outcome.TASK_LIMIT, Reason.TASK_LIMIT, str(refusal)) from None

    def _heed_wishes(self, config: RepoConfig) -> None:
        """Let the repository's own file lower the budget."""
        self.meter.tighten(
            max_iterations=config.max_iterations,
            max_cost_per_task_usd=config.max_cost,
            max_daily_cost_usd=config.max_daily_cost,
        )

    def _refuse_broken_environment(self, baseline: Baseline, category: Category) -> None:
        """Stop before any money is spent; a repository without tests may still get its first ones."""
        problem = baseline.problem
        if problem is None or problem.kind is ProblemKind.NO_TESTS:
            return
        if category is not Category.DOCS:
            hint = HINT if problem.kind in CURABLE and not self.known.prepared else ""
            raise Ended(Outcome.UNJUDGED, Reason.ENVIRONMENT, _explained(problem, hint))

    def _claim_of_unpublished(self, ground: Ground) -> Claim | None:
        """Return the report on verified work that only could not be published, if the worktree holds it."""
        earlier = self.order.unpublished
        if (
            earlier is None
            or earlier.claim is None
            or ground.start_tree not in {earlier.tree, ground.carried}
        ):
            return None
        self.journal.claimed(earlier.claim)
        return earlier.claim

    def _work(self, equipped: Equipped, ground: Ground, inspection: Inspection) -> Claim:
        assignment = Assignment(
            bench=equipped.bench,
            order=self.order,
            ground=ground,
            meter=self.meter,
            journal=self.journal,
            known=self.known,
        )
        return assignment.work(equipped.baseline, inspection)

    def _meaning(self, error: Exception) -> tuple[Outcome, Reason | None]:
        if isinstance(error, _BROKEN_BY_A_STOP) and self.journal.should_stop():
            return Outcome.INTERRUPTED, None
        return next((outcome, reason) for kind, outcome, reason in _FAILURES if isinstance(error, kind))

    def _result(self, outcome: Outcome, reason: Reason | None, detail: str) -> AttemptResult:
        known = self.known
        return AttemptResult(
            outcome=outcome,
            reason=reason,
            detail=detail,
            start=known.start,
            verified=known.verified if outcome is Outcome.VERIFIED else None,
            wip=known.wip,
            verdict=known.verdict,
            claim=known.claim,
            restatement=known.restatement,
            suspects=known.suspects,
            left_out=known.left_out,
            allowed=known.allowed,
            words=known.words,
            prepared=known.prepared,
            house=known.house,
            most_attempts=known.most_attempts,
        )


def _explained(problem: EnvironmentProblem, hint: str) -> str:
    """Return what is wrong with the test environment, the lines that show it, and the ways out."""
    return "\n\n".join(filter(None, [problem.what, "\n".join(problem.lines), problem.fix, hint]))
