"""What is kept: deliveries, tasks with all that is known of them, and money."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from domain.allowing import Allowance
from domain.budget import Spent
from domain.claim import Claim, Restatement
from domain.events import CommandGiven, Event, IssueLabelled
from domain.model import (
    Actor,
    Attempt,
    IssueRef,
    Money,
    Outcome,
    Phase,
    Price,
    Publication,
    PublicationKind,
    Pull,
    Reason,
    Task,
    Usage,
    Verdict,
)
from domain.states import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook as received, after its signature was found good; or a fact that we found ourselves."""

    provider: str
    delivery_id: str
    body_sha256: str
    body: bytes = field(repr=False)
    received_at: datetime
    event: Event
    is_found: bool = False


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
    ERRAND = "errand"
    """It concerns no single task: the worker looks at the forge, and what came of it is recorded with it."""
    TOO_OLD = "too_old"
    """It asks for work, and is older than a day: it begins nothing by itself."""
    QUEUE_FULL = "queue_full"
    """As many issues of its repository wait as may wait; a sweep takes it up when there is room."""
    NOTED = "noted"
    """Read and written down; nothing follows from it by itself."""
    NOT_TRUSTED = "not_trusted"
    """Found by a sweep: who put the label on may not ask, or others may have rewritten the issue since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The door's answer: the decision, and the task it concerns, if any."""

    admission: Admission
    task_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """An event that concerns an existing task and waits for the worker to check who sent it.

    `by_operator` says that it is the operator's own word, given in this service, who may do anything.
    """

    id: int
    task_id: int
    event: Event
    by_operator: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Something the worker has to look at, or to say, for a delivery that concerns no single task."""

    id: int
    event: Event
    admission: Admission


class Inbox(Protocol):
    """Where deliveries become durable."""

    def accept(self, deliveries: Sequence[Delivery], admit: Callable[[Event], Admission]) -> list[Admitted]:
        """Store deliveries and what follows from each in one transaction with one fsync; answers in order.

        `admit` is `domain.policy.admit`, bound: QUEUED means that a task is wanted, SIGNAL that an existing
        task must hear of it; the store turns these into LIVE_TASK or NO_TASK where the rows say so. An
        IssueLabelled for an issue whose task is CANCELLED becomes a signal, as does one for a QUEUED task
        that somebody else asked for, and one for a task of which a signal still waits; for one whose task
        is DONE the answer is DONE_TASK, and nothing follows. A new task that has no room in its repository's
        queue becomes QUEUE_FULL. What is TOO_OLD is taken all the same where we asked for its redelivery.
        ERRAND, QUEUE_FULL and TOO_OLD leave an errand for the worker.
        A delivery id or a body hash seen before is DUPLICATE and changes nothing.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What a task's move brings with it; what is not given stays or is cleared, as the move has it.

    `recoveries` sets that counter. `asked` is the event of a person who asked anew: its actor becomes
    `requested_by`, and a label's title, body and category replace the task's. `word_at` is when, by the
    forge's clock, the word was said that moves it. `goes_on`, with RESUMED: an attempt that was left open
    stays open, and the counters stay, too. `ending` closes an attempt in the same transaction: no crash can
    come between the two.
    """

    reason: Reason | None = None
    detail: str = ""
    not_before: datetime | None = None
    recoveries: int | None = None
    asked: IssueLabelled | CommandGiven | None = None
    ending: tuple[Attempt, Outcome] | None = None
    word_at: datetime | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is to be put on the forge. `expected_sha` is where its branch must be, "" for nowhere yet.

    `base_branch` is where a pull request is for, "" for the default branch.
    """

    kind: PublicationKind
    branch: str
    commit_sha: str
    tree: str
    expected_sha: str
    title: str
    body: str
    base_branch: str = ""


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
        landing: Landing = Landing(),
    ) -> Task:
        """Apply a trigger if state and generation are still those of `task`; clears the lease.

        `claimed` happens only in `claim`. RESUMED and RELABELLED set `attempts` and `recoveries` to 0. A move
        to QUEUED or RUNNING clears reason and detail unless new ones are given. Raises StaleWrite,
        IllegalTransition.
        """

    def heed(self, task_id: int, word_at: datetime) -> None:
        """Remember a word that moved nothing, since what it asks for is under way already."""

    def task(self, task_id: int) -> Task:
        """Return a task. Raises KeyError."""

    def tasks(self) -> list[Task]:
        """Return all tasks, newest first."""

    def task_of_issue(self, issue: IssueRef) -> Task | None:
        """Return the task of an issue, or None."""

    def live_tasks(self, after_id: int, limit: int) -> list[Task]:
        """Return at most `limit` tasks that are neither CANCELLED nor DONE, by id, from after `after_id`."""

    def asked_at(self, task_id: int) -> datetime:
        """Return when a person last asked for the task: admitted, relabelled or resumed. Raises KeyError."""

    def orphans(self, worker: str) -> list[Task]:
        """Return RUNNING tasks whose lease is over, or that an earlier life of `worker` held."""

    def signals(self) -> list[Signal]:
        """Return signals not yet decided, oldest first."""

    def decide(self, signal: Signal, decision: str) -> None:
        """Record what became of a signal; it is not returned again."""

    def heard_comments(self, task_id: int, before: int | None = None) -> frozenset[str]:
        """Return the ids of comments whose commands reached the task, or did so before this signal."""

    def errands(self, limit: int) -> list[Errand]:
        """Return at most `limit` errands to be done, oldest first; what is only to be said comes last."""

    def end_errand(self, errand: Errand, decision: str) -> None:
        """Record what came of an errand; it is not returned again."""

    def places(self, forge: str) -> list[tuple[str, str]]:
        """Return (id, name) of each repository with a live task; its name is that of the newest task."""

    def tasks_at(self, forge: str, repository_id: str) -> list[Task]:
        """Return the live tasks of a repository, oldest first."""

    def waiting(self, forge: str, repository_id: str) -> int:
        """Return how many tasks of a repository are QUEUED."""

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

    def attempt(self, attempt_id: int) -> Attempt:
        """Return an attempt. Raises KeyError."""

    def attempts(self, task_id: int) -> list[Attempt]:
        """Return a task's attempts, oldest first."""

    def add_phase(self, attempt: Attempt, phase: Phase) -> None:
        """Append a stretch to the timeline. Raises StaleWrite when the attempt or its task is another's."""

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

    def allow(self, task: Task, change: str, *, by: Actor, comment_id: str) -> bool:
        """Write down that a maintainer allows one exact change or finding; False where that was before.

        `change` is `ProtectedChange.name` or `Finding.id`.
        """

    def allowances(self, task_id: int) -> tuple[Allowance, ...]:
        """Return what maintainers have allowed on a task, oldest first."""

    def intend(
        self,
        task: Task,
        attempt: Attempt,
        intent: Intent,
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
        price: Price | None = None,
    ) -> Reservation:
        """Read what is spent, ask `decide` for (output tokens, dollars), and book it, in one transaction.

        `price` is what `decide` reckons with; its source is kept. `decide`
        raises CapReached when the call does not fit; then nothing is written.
        """

    def settle(self, reservation: Reservation, *, usage: Usage, cost: Money, billed: Money | None) -> None:
        """Book what a call really cost. `billed` is the provider's own figure. A second time is a no-op."""

    def raise_cap(self, task: Task, amount: Money, *, by: Actor, comment_id: str) -> bool:
        """Write down, once per task, that its attempts may cost up to `amount`; False where that was before.

        It is in force from the next reservation on, as far as the service's maximum allows.
        """

    def standing(self, task: Task, attempt: Attempt | None = None) -> Spent:
        """Return what is spent against each cap now, for people to read; without an attempt, 0 on it."""

    def spent_on_attempt(self, attempt_id: int) -> Money:
        """Return dollars, open reservations included."""

    def spent_on_task(self, task_id: int) -> Money:
        """Return dollars over all attempts, open reservations included."""

    def spent_on_day(self, forge: str, repository_id: str, day: str) -> Money:
        """Return a repository's dollars on a UTC day (YYYY-MM-DD), open reservations included."""

    def calls_on_attempt(self, attempt_id: int) -> int:
        """Return how many calls were reserved, settled or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How often, and when last, a forge was asked to send a delivery again."""

    times: int
    at: datetime


class RedeliveryLog(Protocol):
    """What was missed and asked for again; remembered over restarts."""

    def known(self, provider: str, delivery_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the delivery ids that are in the inbox already."""

    def asked(self, provider: str, delivery_ids: Sequence[str]) -> dict[str, Asked]:
        """Return what was asked for before, by delivery id."""

    def note(self, provider: str, delivery_id: str, at: datetime) -> None:
        """Write down that a delivery is asked for now: before it is, so that no crash loses count."""
