"""Who finds the place, who does the work, and what is told and counted meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from domain.claim import Claim, Restatement
from domain.model import (
    Category,
    Limit,
    Localization,
    Money,
    PastChange,
    Price,
    Usage,
)
from domain.ports.sandbox import SandboxSession
from domain.ports.store import Reservation


class Localizer(Protocol):
    """Finds where a fix belongs, without a model."""

    name: str

    def localize(
        self,
        tree: Path,
        issue_text: str,
        failing_output: str,
        token_budget: int,
        past: Sequence[PastChange] = (),
    ) -> Localization:
        """Rank the places in a checked-out tree and cut slices of at most `token_budget` tokens.

        `past` are the changes that led to the tree, newest first, as far as they are known.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """All that the agent is told. Text from outside stays data: it is never rendered as a template.

    `ci` is the end of the logs of continuous integration that failed on the branch as it stands.
    `guidance` is what the repository itself says of style and tests, from its base branch.
    `seconds_used` is what earlier lives of the same attempt have used of its time, `most_seconds` a cap on it
    that is lower than the agent's own. `directory` is where its commands begin, "" for the root. With
    `sum_up`, the account of an attempt that reached a limit, the agent does no work: it sums up what that
    tells. With `plan_first` it restates the issue, heeding the instructions, and ends there. `answers` holds
    what was asked about the issue before, and what its author wrote since. With `one_shot` it answers with a
    patch in a single call, and runs nothing.
    """

    category: Category
    issue_number: int
    title: str
    body: str
    repository: str
    test_command: str
    suspects: str
    slices: str
    hand_off: str = ""
    ci: str = ""
    review: str = ""
    guidance: str = ""
    instructions: tuple[str, ...] = ()
    resume_messages: tuple[Mapping[str, object], ...] = ()
    skip_restatement: bool = False
    seconds_used: float = 0.0
    most_seconds: float | None = None
    directory: str = ""
    sum_up: str = ""
    plan_first: bool = False
    answers: str = ""
    one_shot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """How the agent's run ended. `claim` is set only when it handed in a well-formed report.

    `summary` is the answer to a brief that asked to sum up, or for a patch in one shot.
    """

    restatement: Restatement | None
    claim: Claim | None
    stopped_by: Limit | None = None
    stop_detail: str = ""
    steps: int = 0
    summary: str = ""


class Meter(Protocol):
    """The money side of one attempt, as the agent sees it."""

    model: str

    def tighten(
        self,
        *,
        max_iterations: int | None,
        max_cost_per_task_usd: Money | None,
        max_daily_cost_usd: Money | None = None,
    ) -> None:
        """Lower the caps to what the repository wishes for itself; they are never raised."""

    def check(self) -> None:
        """Tell before any work whether anything may be spent at all. Raises CapReached."""

    def keeping_back(self, calls: int) -> Meter:
        """Return the same till with so many calls fewer, though never none: they are for later."""

    def reserve(self, input_tokens: int, wanted_output: int) -> Reservation:
        """Set the worst case of the next call aside and count it as a step. Raises CapReached."""

    def settle(self, reservation: Reservation, usage: Usage | None, billed: Money | None) -> Money:
        """Book a call's real cost and return it; without usage, what was set aside for it."""


class Observer(Protocol):
    """Who is told of an attempt's progress; also the place where a stop is asked for."""

    def restated(self, restatement: Restatement) -> None:
        """Hear the restatement as soon as it is there."""

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Hear of a finished step, before the next one begins. Durable when this returns."""

    def listen(self) -> tuple[str, ...]:
        """Return what maintainers have written since the last call: the agent reads it before it goes on."""

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
