"""What an attempt is given, what it works with, and what it gives back: values that several rooms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from domain.allowing import Allowance, is_cleared
from domain.claim import Claim, Restatement
from domain.model import Attempt, Outcome, Reason, Repository, Suspect, Task, Verdict
from domain.ports import Agent, Localizer, Sandbox, SandboxPolicy, SandboxSession
from harness.access import Access
from harness.handoff import PastAttempt
from harness.house import PLAIN_HOUSE, House
from harness.protection import Allowed
from harness.publish import StartPoint, WipChange
from harness.setup.phase import SetupPhase
from harness.verify import VerifiedChange
from harness.workspace import Workspace, Workspaces

_PERHAPS_COMPLETE = frozenset({Outcome.DECLINED, Outcome.REFUSED, Outcome.REPEATED})
"""Outcomes that a forge or a maintainer's word may have stood behind, and not the work itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be attempted, with all that the worker had to look up for it.

    `ci` is what continuous integration printed where the branch failed there, "" where it did not. `review`
    is what reviewers ask of the draft, with places; `review_words` are their words alone. `answers` is what
    was asked about the issue, and what its author wrote since.
    `allowances` reads what maintainers have allowed by now: they may do so while the agent works.
    `plan_first` says that the issue asks for a plan, `plan_approved` that a maintainer has approved one.
    """

    task: Task
    attempt: Attempt
    repository: Repository
    access: Access
    start_branch: str
    past: tuple[PastAttempt, ...] = ()
    instructions: tuple[str, ...] = ()
    ci: str = ""
    review: str = ""
    review_words: tuple[str, ...] = ()
    answers: str = ""
    goes_ahead: bool = False
    """Whether a maintainer has said to go on since something was asked: then nothing is asked again."""
    maintainer_wrote_issue: bool = False
    allowances: Callable[[], tuple[Allowance, ...]] = tuple
    plan_first: bool = False
    plan_approved: bool = False

    @property
    def authority(self) -> str:
        """What maintainers themselves wrote: only that may name an expectation of a test as wrong."""
        issue = (self.task.title, self.task.body) if self.maintainer_wrote_issue else ()
        return "\n".join((*issue, *self.instructions, *self.review_words))

    @property
    def unpublished(self) -> PastAttempt | None:
        """The last attempt, if its work was complete and only could not go on then: it is not redone.

        The forge would not take it, or it waited for a maintainer's word that has been given since.
        """
        last = self.past[-1] if self.past else None
        if last is None or last.outcome not in _PERHAPS_COMPLETE or last.verdict is None:
            return None
        is_done = last.outcome is Outcome.DECLINED and last.verdict.verified
        return last if is_done or is_cleared(last.verdict, self.allowances()) else None


SessionWrapper = Callable[[SandboxSession, Workspace], SandboxSession]


def as_it_is(session: SandboxSession, workspace: Workspace) -> SandboxSession:
    """Leave a session as it is: the agent's commands run in a shell."""
    return session


@dataclass(frozen=True, slots=True)
class Bench:
    """The parts that an attempt works with; one set per worker, made by the wiring.

    `protected` are patterns of paths that people alone may change, in every repository, besides the defaults.
    `agent_session` puts the operator's command policy around the agent's session, and around no other one.
    """

    sandbox: Sandbox
    workspaces: Workspaces
    agent: Agent
    localizer: Localizer
    limits: Callable[[Workspace], SandboxPolicy]
    protected: Sequence[str] = ()
    setup: SetupPhase | None = None
    agent_session: SessionWrapper = as_it_is

    def policy(self, workspace: Workspace, repository: Repository) -> SandboxPolicy:
        """Return the limits of a session in a workspace, with what the sandbox must know besides."""
        return replace(self.limits(workspace), private_repository=repository.private)


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
    words: tuple[Allowance, ...] = ()
    prepared: str = ""
    house: House = PLAIN_HOUSE
    most_attempts: int | None = None


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
    words: tuple[Allowance, ...] = ()
    """What maintainers have allowed of this very change."""
    prepared: str = ""
    """What was set up for the tests, and why; "" for nothing."""
    house: House = PLAIN_HOUSE
    """How the repository wants this presented."""
    most_attempts: int | None = None
    """How many attempts at a task the repository wants at most."""
    model_refused: bool = False
    """Whether the model's provider refuses the service as such: the work goes on when it answers again."""
    retry_after: float | None = None
    """Seconds for which the model's provider asked to be left alone."""

    @classmethod
    def declined(cls, reason: Reason, error: Exception) -> AttemptResult:
        """Return what an error around the attempt means for it."""
        return cls(outcome=Outcome.DECLINED, reason=reason, detail=str(error))


class Ended(Exception):
    """Carries an early ending out of the straight line of an attempt."""

    def __init__(self, outcome: Outcome, reason: Reason | None = None, detail: str = "") -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.reason = reason
        self.detail = detail
