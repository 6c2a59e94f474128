"""One attempt, as a straight line: prepare, baseline, localize, agent, snapshot, guard, verify.

No publishing and no database here: what happens is told to a Journal, what came out is the return value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from domain.claim import Claim, Restatement
from domain.errors import (
    AgentFailure,
    ConfigurationError,
    GitError,
    PolicyRefusal,
    ProviderUnavailable,
    SandboxError,
    Stopped,
)
from domain.model import (
    Attempt,
    Category,
    CloneAccess,
    Finding,
    Limit,
    Outcome,
    Reason,
    Repository,
    Severity,
    Suspect,
    Task,
    Verdict,
)
from domain.ports import Agent, AgentReport, Brief, Localizer, Meter, Sandbox, SandboxPolicy
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from harness.change import check_change, scan_secrets
from harness.checkpoints import Checkpoints, Start, last_checkpoint
from harness.git import Mirror, Snapshot
from harness.handoff import PastAttempt, hand_off
from harness.journal import Journal
from harness.publish import StartPoint, WipChange
from harness.testing.diagnosis import EnvironmentProblem, ProblemKind
from harness.verify import Baseline, VerifiedChange, Verifier
from harness.workspace import Workspace, Workspaces

SLICE_TOKENS = 6000
"""Tokens of source that the localizer may put into the brief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be attempted, with all that the worker had to look up for it."""

    task: Task
    attempt: Attempt
    repository: Repository
    access: CloneAccess
    start_branch: str
    past: tuple[PastAttempt, ...] = ()
    instructions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """How an attempt ended. Only VERIFIED carries a VerifiedChange; unfinished work is a WipChange."""

    outcome: Outcome
    reason: Reason | None = None
    detail: str = ""
    start: StartPoint | None = None
    verified: VerifiedChange | None = None
    wip: WipChange | None = None
    verdict: Verdict | None = None
    claim: Claim | None = None
    restatement: Restatement | None = None
    suspects: tuple[Suspect, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """The parts that an attempt works with; one set per worker, made by the wiring."""

    sandbox: Sandbox
    workspaces: Workspaces
    agent: Agent
    localizer: Localizer
    limits: Callable[[Workspace], SandboxPolicy]


@dataclass(slots=True)
class _Ground:
    """What preparing found: where the attempt starts, and what it is measured against."""

    mirror: Mirror
    start: StartPoint
    base_sha: str
    config: RepoConfig
    workspace: Workspace
    start_tree: str
    touched: tuple[str, ...] = ()


@dataclass(slots=True)
class _Progress:
    """What is known so far; becomes part of every result, whichever way the attempt ends."""

    start: StartPoint | None = None
    restatement: Restatement | None = None
    claim: Claim | None = None
    suspects: tuple[Suspect, ...] = ()
    left_out: tuple[str, ...] = ()
    wip: WipChange | None = None
    verdict: Verdict | None = None
    verified: VerifiedChange | None = None


class _Ended(Exception):
    """Carries an early ending out of the straight line."""

    def __init__(self, outcome: Outcome, reason: Reason | None = None, detail: str = "") -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.reason = reason
        self.detail = detail


@dataclass(slots=True)
class AttemptRun:
    """Runs one order to its end. `run` is called once."""

    bench: Bench
    order: Order
    meter: Meter
    journal: Journal
    known: _Progress = field(default_factory=_Progress)

    def run(self) -> AttemptResult:
        """Work the order through; every deliberate failure becomes an outcome, with its reason."""
        try:
            if self.journal.past_claim() is None:
                self.bench.agent.prestart()
            self._line()
        except _Ended as end:
            return self._result(end.outcome, end.reason, end.detail)
        except Stopped as stop:
            return self._result(Outcome.INTERRUPTED, None, str(stop))
        except ProviderUnavailable as error:
            return self._result(Outcome.TRANSIENT, None, str(error))
        except AgentFailure as error:
            return self._result(Outcome.DECLINED, Reason.ENVIRONMENT, str(error))
        except SandboxError as error:
            return self._result(Outcome.DECLINED, Reason.SANDBOX, str(error))
        except ConfigurationError as error:
            return self._result(Outcome.DECLINED, Reason.CONFIG, str(error))
        except PolicyRefusal as error:
            return self._result(Outcome.REFUSED, Reason.PROTECTED_PATH, str(error))
        finally:
            self.bench.agent.close()
        return self._result(Outcome.VERIFIED, None, "")

    def _line(self) -> None:
        with self.journal.phase("prepare"):
            ground = self._prepare()
        checkouts = _Checkouts(self.bench.workspaces, ground.mirror)
        verifier = Verifier(self.bench.sandbox, ground.mirror, checkouts)
        try:
            with self.journal.phase("baseline") as note:
                baseline = verifier.baseline(ground.base_sha, ground.config)
                note.text = _summary(baseline)
            self._refuse_broken_environment(baseline)
            self.known.claim = self.journal.past_claim()
            if self.known.claim is None:
                self._work(ground, baseline)
            with self.journal.phase("check"):
                snapshot = self._snapshot(ground)
                self._check(ground, snapshot)
            with self.journal.phase("verify") as note:
                self._verify(ground, verifier, baseline, snapshot)
                note.text = self.known.verdict.summary if self.known.verdict else ""
        finally:
            ground.workspace.remove()

    # -- prepare ------------------------------------------------------------------------------------

    def _prepare(self) -> _Ground:
        order = self.order
        mirror = self.bench.workspaces.mirror_for(order.repository)
        mirror.fetch(order.access)
        default = mirror.default_head(order.repository.default_branch)
        if not default:
            raise _Ended(
                Outcome.DECLINED,
                Reason.ENVIRONMENT,
                f"The repository has no commit on its default branch `{order.repository.default_branch}`, "
                "so there is nothing to work on.",
            )
        start = self._start_point(mirror, default)
        self.known.start = start
        self.journal.based_on(start.sha)
        base_sha = (mirror.merge_base(start.sha, default) or default) if start.branch else start.sha
        config = parse_repo_config(mirror.read_file(default, FILE_NAME))
        start_tree, touched = self._start_tree(mirror, start, base_sha)
        workspace = self.bench.workspaces.open(order.task.id, order.attempt.number)
        workspace.fill(
            mirror,
            start.sha,
            branch=start.branch or order.repository.default_branch,
            url=order.access.url,
            tree=start_tree,
        )
        return _Ground(mirror, start, base_sha, config, workspace, start_tree, touched)

    def _start_point(self, mirror: Mirror, default: str) -> StartPoint:
        """Begin from the live branch, with what people pushed to it, else from the default branch."""
        branch = self.order.start_branch
        head = mirror.default_head(branch) if branch else ""
        recorded = self.order.attempt.base_sha
        if recorded and _is_there(mirror, recorded):
            return StartPoint(sha=recorded, branch=branch if head else "")
        return StartPoint(sha=head, branch=branch) if head else StartPoint(sha=default)

    def _start_tree(self, mirror: Mirror, start: StartPoint, base_sha: str) -> tuple[str, tuple[str, ...]]:
        """Return the tree to begin with: the last checkpoint, or the earlier work that is worth keeping."""
        checkpoint = last_checkpoint(self.journal.past_steps())
        tree = mirror.tree_of(start.sha)
        if checkpoint and _is_there(mirror, checkpoint):
            tree = mirror.tree_of(checkpoint)
        elif self.order.past and self.order.past[-1].outcome is Outcome.UNVERIFIED:
            tree = self.order.past[-1].tree or tree
        changed = mirror.changes(mirror.tree_of(base_sha), tree)
        return tree, tuple(change.path for change in changed)

    def _refuse_broken_environment(self, baseline: Baseline) -> None:
        """Stop before any money is spent; a repository without tests may still get its first ones."""
        problem = baseline.problem
        if problem is None or problem.kind is ProblemKind.NO_TESTS:
            return
        if self.order.task.category is not Category.DOCS:
            raise _Ended(Outcome.DECLINED, Reason.ENVIRONMENT, _explained(problem))

    # -- the agent ----------------------------------------------------------------------------------

    def _work(self, ground: _Ground, baseline: Baseline) -> None:
        brief = self._brief(ground, baseline)
        with self.journal.phase("agent") as note:
            report = self._run_agent(ground, brief)
            note.text = f"{report.steps} steps"
        self.known.restatement = report.restatement
        if report.restatement is not None and report.restatement.is_ambiguous:
            raise _Ended(Outcome.DECLINED, Reason.NEEDS_INFORMATION, "The issue can be read in several ways.")
        if report.claim is None:
            self._keep_unfinished(ground)
            self._stopped_early(report)
            return
        self.known.claim = report.claim
        self.journal.claimed(report.claim)

    def _brief(self, ground: _Ground, baseline: Baseline) -> Brief:
        task = self.order.task
        with self.journal.phase("localize") as note:
            found = self.bench.localizer.localize(
                ground.workspace.tree, f"{task.title}\n\n{task.body}", baseline.failing_output, SLICE_TOKENS
            )
            self.known.suspects = found.suspects
            note.text = ", ".join(suspect.path for suspect in found.suspects[:3])
        steps = self.journal.past_steps()
        continues = ground.start_tree != ground.mirror.tree_of(ground.base_sha)
        return Brief(
            category=task.category,
            issue_number=task.issue.number,
            title=task.title,
            body=task.body,
            repository=task.repository_name,
            test_command=baseline.plan.command if baseline.plan else "",
            suspects="\n".join(
                f"{suspect.path}:{suspect.first_line} {suspect.symbol}".strip()
                for suspect in found.suspects[:10]
            ),
            slices=found.slices,
            hand_off=hand_off(self.order.past, continues=continues, files=ground.touched),
            instructions=self.order.instructions,
            resume_messages=_messages(steps),
            skip_restatement=bool(steps) or self.order.attempt.number > 1,
        )

    def _run_agent(self, ground: _Ground, brief: Brief) -> AgentReport:
        session = self.bench.sandbox.open(self.bench.limits(ground.workspace))
        checkpoints = Checkpoints(
            journal=self.journal,
            mirror=ground.mirror,
            worktree=ground.workspace.tree,
            start=Start(ground.start.sha, ground.start_tree, self.order.attempt.started_at),
            ref=f"attempts/{self.order.attempt.id}",
        )
        try:
            return self.bench.agent.run(brief, session, self.meter, checkpoints)
        finally:
            session.close()

    def _keep_unfinished(self, ground: _Ground) -> None:
        """Keep what a stopped agent left, if it is fit for a branch; never as anything verified."""
        try:
            snapshot = self._snapshot(ground)
        except PolicyRefusal:
            return
        findings = self._critical_findings(ground, snapshot)
        if snapshot.tree != ground.mirror.tree_of(ground.start.sha) and not findings:
            self.known.wip = WipChange(tree=snapshot.tree)

    def _stopped_early(self, report: AgentReport) -> None:
        if report.stopped_by is Limit.DAILY_COST:
            raise _Ended(Outcome.DAILY_LIMIT, None, report.stop_detail)
        if report.stopped_by is not None:
            raise _Ended(Outcome.TASK_LIMIT, Reason.TASK_LIMIT, report.stop_detail)
        raise _Ended(Outcome.TASK_LIMIT, Reason.TASK_LIMIT, report.stop_detail or "The agent stopped.")

    # -- check and verify ---------------------------------------------------------------------------

    def _snapshot(self, ground: _Ground) -> Snapshot:
        snapshot = ground.mirror.snapshot(ground.workspace.tree, ground.start_tree)
        self.known.left_out = (
            *(f"{excluded.path} ({excluded.why})" for excluded in snapshot.excluded),
            *(f"{path} (ignored by the repository)" for path in snapshot.ignored),
        )
        return snapshot

    def _critical_findings(self, ground: _Ground, snapshot: Snapshot) -> tuple[Finding, ...]:
        changes = ground.mirror.changes(ground.mirror.tree_of(ground.base_sha), snapshot.tree)
        base_tree = ground.mirror.tree_of(ground.base_sha)
        found = check_change(changes, ground.config.protected_paths)
        found += scan_secrets(ground.mirror.added_lines(base_tree, snapshot.tree))
        return tuple(finding for finding in found if finding.severity is Severity.CRITICAL)

    def _check(self, ground: _Ground, snapshot: Snapshot) -> None:
        if snapshot.tree == ground.mirror.tree_of(ground.base_sha):
            raise _Ended(Outcome.NO_CHANGE, Reason.NO_CHANGE, "The agent left the repository as it was.")
        if snapshot.tree in {past.tree for past in self.order.past}:
            raise _Ended(Outcome.REPEATED, Reason.REPEATED_DIFF, "The change equals an earlier attempt's.")
        findings = self._critical_findings(ground, snapshot)
        if findings:
            self._refuse(ground, snapshot, findings, Reason.PROTECTED_PATH)

    def _verify(self, ground: _Ground, verifier: Verifier, baseline: Baseline, snapshot: Snapshot) -> None:
        task = self.order.task
        change = verifier.read_change(ground.base_sha, snapshot.tree)
        outcome = verifier.verify(change, baseline, task.category, f"{task.title}\n{task.body}")
        verdict = outcome.verdict if isinstance(outcome, VerifiedChange) else outcome
        self.known.verdict = verdict
        self.journal.judged(verdict)
        if isinstance(outcome, VerifiedChange):
            self.known.verified = outcome
            return
        if any(finding.severity is Severity.CRITICAL for finding in verdict.findings):
            raise _Ended(Outcome.REFUSED, Reason.GUARD, verdict.summary)
        self.known.wip = WipChange(tree=snapshot.tree)
        raise _Ended(Outcome.UNVERIFIED, None, verdict.summary)

    def _refuse(
        self, ground: _Ground, snapshot: Snapshot, findings: Sequence[Finding], reason: Reason
    ) -> None:
        worst = next(finding for finding in findings if finding.severity is Severity.CRITICAL)
        self.known.verdict = Verdict(
            verified=False,
            summary=f"Refused before any test was run: {worst.what}",
            base_sha=ground.base_sha,
            tree=snapshot.tree,
            runs=(),
            findings=tuple(findings),
            turned_green=(),
            broken=(),
            isolation=self.bench.sandbox.isolation,
        )
        self.journal.judged(self.known.verdict)
        raise _Ended(Outcome.REFUSED, reason, worst.what)

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
        )


@dataclass(frozen=True, slots=True)
class _Checkouts:
    """Fresh checkouts for verification, in the worker's own ground."""

    workspaces: Workspaces
    mirror: Mirror

    def fresh(self, tree: str) -> Path:
        """Return a new directory that holds exactly the files of a tree."""
        return self.workspaces.fresh(self.mirror, tree)

    def discard(self, checkout: Path) -> None:
        """Remove it, whatever the tests have made of it."""
        self.workspaces.remove(checkout)


def _summary(baseline: Baseline) -> str:
    """Say in a few words how the base's own suite does."""
    if baseline.run is None:
        return "no tests found"
    if baseline.problem is not None:
        return baseline.problem.what
    return f"{baseline.run.passed or 0} passed, {baseline.run.failed or 0} failed"


def _explained(problem: EnvironmentProblem) -> str:
    """Return what is wrong with the test environment, the lines that show it, and the way out."""
    return "\n\n".join(filter(None, [problem.what, "\n".join(problem.lines), problem.fix]))


def _is_there(mirror: Mirror, sha: str) -> bool:
    """Tell whether a commit that was recorded is still in the mirror: mirrors may be made anew."""
    try:
        return bool(mirror.tree_of(sha))
    except GitError:
        return False


def _messages(steps: Sequence[object]) -> tuple[dict[str, object], ...]:
    """Return the conversation that finished steps recorded, in order."""
    messages: list[dict[str, object]] = []
    for record in steps:
        new = record.get("messages") if isinstance(record, dict) else None
        messages += [message for message in new or [] if isinstance(message, dict)]
    return tuple(messages)
