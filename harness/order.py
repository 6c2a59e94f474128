"""What an attempt is given, what it works with, and what it gives back: values that several rooms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from domain.allowing import Allowance
from domain.claim import Claim, Restatement
from domain.model import Attempt, Outcome, Reason, Repository, Suspect, Task, Verdict
from domain.ports import Agent, Localizer, Sandbox, SandboxPolicy
from harness.access import Access
from harness.handoff import PastAttempt
from harness.protection import Allowed, allowed_by
from harness.publish import StartPoint, WipChange
from harness.setup.phase import SetupPhase
from harness.verify import VerifiedChange
from harness.workspace import Workspace, Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be attempted, with all that the worker had to look up for it."""

    task: Task
    attempt: Attempt
    repository: Repository
    access: Access
    start_branch: str
    past: tuple[PastAttempt, ...] = ()
    instructions: tuple[str, ...] = ()
    maintainer_wrote_issue: bool = False
    allowances: tuple[Allowance, ...] = ()

    @property
    def authority(self) -> str:
        """What maintainers themselves wrote: only that may name an expectation of a test as wrong."""
        issue = (self.task.title, self.task.body) if self.maintainer_wrote_issue else ()
        return "\n".join((*issue, *self.instructions))

    @property
    def unpublished(self) -> PastAttempt | None:
        """The last attempt, if its work was complete and only could not go on then: it is not redone.

        The forge would not take it, or it waited for a maintainer's word that has been given since.
        """
        last = self.past[-1] if self.past else None
        if last is None or last.outcome is not Outcome.DECLINED or last.verdict is None:
            return None
        is_allowed = allowed_by(last.verdict.protected, self.allowances) is not None
        return last if last.verdict.verified or is_allowed else None


@dataclass(frozen=True, slots=True)
class Bench:
    """The parts that an attempt works with; one set per worker, made by the wiring.

    `protected` are patterns of paths that people alone may change, in every repository, besides the defaults.
    """

    sandbox: Sandbox
    workspaces: Workspaces
    agent: Agent
    localizer: Localizer
    limits: Callable[[Workspace], SandboxPolicy]
    protected: Sequence[str] = ()

    def policy(self, workspace: Workspace, repository: Repository) -> SandboxPolicy:
        """Return the limits of a session in a workspace, with what the sandbox must know besides."""
        return replace(self.limits(workspace), private_repository=repository.private)

    setup: SetupPhase | None = None


@dataclass(slots=True)
class Progress:
    """What is known so far; becomes part of the result, whichever way the attempt ends."""

    start: StartPoint | None = None
    restatement: Restatement | None = None
    claim: Claim | None = None
    suspects: tuple[Suspect, ...] = ()
    left_out: tuple[str, ...] = ()
    wip: WipChange | None = None
    verdict: Verdict | None = None
    verified: VerifiedChange | None = None
    allowed: Allowed | None = None
    prepared: str = ""


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
    allowed: Allowed | None = None
    prepared: str = ""
    """What was set up for the tests, and why; "" for nothing."""
    retry_after: float | None = None
    """Seconds for which the model's provider asked to be left alone."""


class Ended(Exception):
    """Carries an early ending out of the straight line of an attempt."""

    def __init__(self, outcome: Outcome, reason: Reason | None = None, detail: str = "") -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.reason = reason
        self.detail = detail
