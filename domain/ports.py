"""The ports: what the product needs of the world, each small, each with at least two implementations.

A method's comment names the errors it may raise; any other error is a fault of the adapter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from domain.budget import Caps, Spent
from domain.claim import Claim, Restatement
from domain.events import CommandGiven, Event, IssueLabelled
from domain.model import (
    Actor,
    Attempt,
    Category,
    CloneAccess,
    CommandResult,
    Comment,
    Issue,
    IssueRef,
    Limit,
    Localization,
    Money,
    Outcome,
    Permission,
    Phase,
    Price,
    Publication,
    PublicationKind,
    Pull,
    PullProposal,
    Reason,
    Repository,
    Task,
    Usage,
    Verdict,
)
from domain.states import Trigger


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""


# -- forge ------------------------------------------------------------------------------------------


class Capability(StrEnum):
    """What a forge may or may not be able to do."""

    DRAFT_PULLS = "draft pull requests"
    REACTIONS = "reactions"
    CHECKS = "checks"


class Forge(Protocol):
    """A code forge, without git: pushing is the harness' business on every forge.

    Every method may raise ForgeUnavailable (worth another try later) and ForgeError (not).
    """

    name: str
    capabilities: frozenset[Capability]
    identity: Actor
    """Who we are on this forge; our own events are known by this id."""

    def repository(self, repository_id: str) -> Repository:
        """Return the repository by its permanent id. Raises NotFound."""

    def issue(self, issue: IssueRef) -> Issue:
        """Return the issue as it stands now. Raises NotFound."""

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """Return every comment, oldest first, all pages. Raises NotFound."""

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """Return what this user (by id, not by name) may do now; NONE for a stranger."""

    def clone_access(self, repository_id: str) -> CloneAccess:
        """Return a url without credentials and, apart, a short-lived credential. Raises NotFound."""

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """Return the newest pull request from this branch, open ones first, or None."""

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """Create the pull request, or bring the open one from the same branch to this text.

        Raises PermissionRefused.
        """

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """Write our comment on this topic, or rewrite it: never a second one. Raises PermissionRefused."""

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """Write a comment once per `key`; with the same key again, return the one already there."""


class WebhookDialect(Protocol):
    """How one forge signs and words its deliveries; pure, and light enough for the web process."""

    name: str

    def verify(self, body: bytes, headers: Sequence[tuple[bytes, bytes]], secrets: Sequence[bytes]) -> bool:
        """Tell whether the exact bytes are signed with one of the secrets. Constant time, never raises."""

    def delivery_id(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Return the forge's delivery id. Raises ValueError if absent or unusable."""

    def parse(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Event:
        """Return what the delivery means. Raises ValueError if it is not what its headers say."""


class Provider(Protocol):
    """A forge plugin, as found in the entry-point group `fixwright.providers`."""

    name: str

    def dialect(self) -> WebhookDialect:
        """Return the webhook side, without importing the forge's client."""

    def forge(self, options: Mapping[str, str]) -> Forge:
        """Return the client, made from this provider's own settings. Raises ConfigurationError."""


# -- store ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook as received, after its signature was found good."""

    provider: str
    delivery_id: str
    body_sha256: str
    body: bytes = field(repr=False)
    received_at: datetime
    event: Event


class Admission(StrEnum):
    """What was decided about a delivery at the door. Recorded with it, for every delivery."""

    QUEUED = "queued"
    SIGNAL = "signal"
    DUPLICATE = "duplicate"
    LIVE_TASK = "live_task"
    DONE_TASK = "done_task"
    NO_TASK = "no_task"
    NOT_SERVED = "not_served"
    OWN_EVENT = "own_event"
    OTHER_LABEL = "other_label"
    UNINTERESTING = "uninteresting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The door's answer: the decision, and the task it concerns, if any."""

    admission: Admission
    task_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An event that concerns an existing task and waits for the worker to check who sent it."""

    id: int
    task_id: int
    event: Event


class Inbox(Protocol):
    """Where deliveries become durable."""

    def accept(self, deliveries: Sequence[Delivery], admit: Callable[[Event], Admission]) -> list[Admitted]:
        """Store deliveries and what follows from each in one transaction with one fsync; answers in order.

        `admit` is `domain.policy.admit`, bound: QUEUED means that a task is wanted, SIGNAL that an existing
        task must hear of it; the store turns these into LIVE_TASK or NO_TASK where the rows say so. An
        IssueLabelled for an issue whose task is CANCELLED becomes a signal; for one whose task is DONE the
        answer is DONE_TASK, and nothing follows.
        A delivery id or a body hash seen before is DUPLICATE and changes nothing.
        """


class TaskQueue(Protocol):
    """Tasks, attempts and what is known of them. Every write that moves a task is a compare-and-set."""

    def claim(self, worker: str, lease_seconds: float) -> Task | None:
        """Take the oldest due QUEUED task to RUNNING under a new generation, or return None."""

    def heartbeat(self, task: Task, lease_seconds: float) -> None:
        """Extend the lease. Raises StaleWrite when the task is no longer ours."""

    def move(
        self,
        task: Task,
        trigger: Trigger,
        *,
        reason: Reason | None = None,
        detail: str = "",
        not_before: datetime | None = None,
        recoveries: int | None = None,
        asked: IssueLabelled | CommandGiven | None = None,
        ending: tuple[Attempt, Outcome] | None = None,
    ) -> Task:
        """Apply a trigger if state and generation are still those of `task`; clears the lease.

        `claimed` happens only in `claim`. `recoveries` sets that counter; RESUMED and RELABELLED set it and
        `attempts` to 0. A move to QUEUED or RUNNING clears reason and detail unless new ones are given.
        `asked` is the event of the person who asked anew: its actor becomes `requested_by`, and a label's
        title, body and category replace the task's. `ending` closes an attempt in the same transaction, as
        `end_attempt` does: no crash can come between the two. Raises StaleWrite, IllegalTransition.
        """

    def task(self, task_id: int) -> Task:
        """Return a task. Raises KeyError."""

    def tasks(self) -> list[Task]:
        """Return all tasks, newest first."""

    def orphans(self, worker: str) -> list[Task]:
        """Return RUNNING tasks whose lease is over, or that an earlier life of `worker` held."""

    def signals(self) -> list[Signal]:
        """Return signals not yet decided, oldest first."""

    def decide(self, signal: Signal, decision: str) -> None:
        """Record what became of a signal; it is not returned again."""

    def next_due(self) -> datetime | None:
        """Return when the next QUEUED task becomes due, or None when there is none."""

    def begin_attempt(self, task: Task) -> Attempt:
        """Open the next attempt, or return the open one that a crash left. Raises StaleWrite."""

    def note_progress(
        self, attempt: Attempt, *, base_sha: str = "", checkpoint_sha: str = "", steps: int = 0
    ) -> Attempt:
        """Record how far an attempt is, so that it can go on from there after a crash."""

    def end_attempt(self, attempt: Attempt, outcome: Outcome) -> Attempt:
        """Close an attempt; it counts against `max_attempts` unless INTERRUPTED, ORPHANED or TRANSIENT."""

    def attempts(self, task_id: int) -> list[Attempt]:
        """Return a task's attempts, oldest first."""

    def add_phase(self, attempt: Attempt, phase: Phase) -> None:
        """Append a stretch to the timeline."""

    def phases(self, task_id: int) -> list[tuple[int, Phase]]:
        """Return (attempt number, phase) for the whole task, in order."""

    def save_report(self, attempt: Attempt, *, restatement: Restatement | None, claim: Claim | None) -> None:
        """Store the model's words, apart from any verdict."""

    def report(self, attempt: Attempt) -> tuple[Restatement | None, Claim | None]:
        """Return the model's words of an attempt."""

    def save_verdict(self, attempt: Attempt, verdict: Verdict) -> None:
        """Store what the harness saw. Only verification makes verdicts."""

    def verdict(self, attempt: Attempt) -> Verdict | None:
        """Return the verdict of an attempt, or None."""

    def intend(
        self,
        task: Task,
        attempt: Attempt,
        kind: PublicationKind,
        *,
        branch: str,
        commit_sha: str,
        tree: str,
        expected_sha: str,
        title: str,
        body: str,
    ) -> Publication:
        """Write the intent, once per (task, tree, kind). Raises StaleWrite if the task moved on."""

    def published(self, publication: Publication, *, pull: Pull | None) -> Publication:
        """Fill in the remote facts, and remember the commit as the task's branch head."""

    def unfinished_publications(self, task_id: int) -> list[Publication]:
        """Return intents without remote facts."""

    def publications(self, task_id: int) -> list[Publication]:
        """Return all of a task's publications, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Money set aside for one call. Until it is settled it counts as spent."""

    id: int
    attempt_id: int
    amount: Money
    max_output_tokens: int


class Ledger(Protocol):
    """The append-only account. Reserve, call, settle."""

    def reserve(
        self,
        task: Task,
        attempt: Attempt,
        *,
        model: str,
        decide: Callable[[Spent], tuple[int, Money]],
    ) -> Reservation:
        """Read what is spent, ask `decide` for (output tokens, dollars), and book it, in one transaction.

        `decide` raises CapReached when the call does not fit; then nothing is written.
        """

    def settle(self, reservation: Reservation, *, usage: Usage, cost: Money, billed: Money | None) -> None:
        """Book what a call really cost. `billed` is the provider's own figure. A second time is a no-op."""

    def spent_on_attempt(self, attempt_id: int) -> Money:
        """Return dollars, open reservations included."""

    def spent_on_task(self, task_id: int) -> Money:
        """Return dollars over all attempts, open reservations included."""

    def spent_on_day(self, forge: str, repository_id: str, day: str) -> Money:
        """Return a repository's dollars on a UTC day (YYYY-MM-DD), open reservations included."""

    def calls_on_attempt(self, attempt_id: int) -> int:
        """Return how many calls were reserved, settled or not."""


# -- sandbox ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """Limits of one session. Bytes and seconds; `writable` is mounted at /work, nothing else of the host."""

    writable: Path
    scratch: Path
    memory_bytes: int = 450 * 2**20
    processes: int = 128
    file_bytes: int = 64 * 2**20
    disk_bytes: int = 300 * 2**20
    output_head: int = 8 * 2**10
    output_tail: int = 24 * 2**10
    output_kill: int = 64 * 2**20
    env: Mapping[str, str] = field(default_factory=dict)


class SandboxSession(Protocol):
    """A prepared place to run commands in. Nothing that a command starts outlives it."""

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run a shell command in /work. Never raises for what the command does. Raises SandboxError."""

    def stop(self) -> None:
        """Kill the running command, from any thread; the session is not used after that."""

    def close(self) -> None:
        """Kill what is left and remove the session's scratch space."""


class Sandbox(Protocol):
    """A back end that isolates commands."""

    @property
    def isolation(self) -> str:
        """Say in one line what isolation is achieved; the pull request prints it."""

    def self_test(self) -> None:
        """Try the isolation for real. Raises SandboxError naming what does not hold and the way out."""

    def open(self, policy: SandboxPolicy) -> SandboxSession:
        """Return a session on a worktree. Raises SandboxError."""


# -- agent and localizer ----------------------------------------------------------------------------


class Localizer(Protocol):
    """Finds where a fix belongs, without a model."""

    name: str

    def localize(self, tree: Path, issue_text: str, failing_output: str, token_budget: int) -> Localization:
        """Rank the places in a checked-out tree and cut slices of at most `token_budget` tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """All that the agent is told. Text from outside stays data: it is never rendered as a template."""

    category: Category
    issue_number: int
    title: str
    body: str
    repository: str
    test_command: str
    suspects: str
    slices: str
    hand_off: str = ""
    instructions: tuple[str, ...] = ()
    resume_messages: tuple[Mapping[str, object], ...] = ()
    skip_restatement: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """How the agent's run ended. `claim` is set only when it handed in a well-formed report."""

    restatement: Restatement | None
    claim: Claim | None
    stopped_by: Limit | None = None
    stop_detail: str = ""
    steps: int = 0


class Meter(Protocol):
    """The money side of one attempt, as the agent sees it."""

    model: str

    def reserve(self, input_tokens: int, wanted_output: int) -> Reservation:
        """Set the worst case of the next call aside and count it as a step. Raises CapReached."""

    def settle(self, reservation: Reservation, usage: Usage, billed: Money | None) -> Money:
        """Book a call's real cost and return it."""


class Observer(Protocol):
    """Who is told of an attempt's progress; also the place where a stop is asked for."""

    def restated(self, restatement: Restatement) -> None:
        """Hear the restatement as soon as it is there."""

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Hear of a finished step, before the next one begins. Durable when this returns."""

    def should_stop(self) -> bool:
        """Tell whether the attempt must end now."""


class Agent(Protocol):
    """Does the work in the sandbox; has no credential of any kind and decides nothing."""

    def prestart(self) -> None:
        """Begin to get ready, without waiting, so that it overlaps with preparing the worktree."""

    def close(self) -> None:
        """Let go of what `prestart` began and `run` did not use."""

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        """Work until a report is handed in or a limit is reached.

        Raises AgentFailure, ProviderUnavailable, Stopped, SandboxError.
        """


PriceList = Callable[[str], Price]
"""Look up a model's price. Raises Unpriced, naming the setting to add."""

CapsFor = Callable[[Task], Caps]
