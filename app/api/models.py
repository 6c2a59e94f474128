"""What the API answers, as typed and described JSON. Money is text in dollars, times are ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.approving import Gate
from domain.model import Category, Outcome, Reason
from domain.states import State


class Answer(BaseModel):
    """What is common to all answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Waiting(Answer):
    """What a run waits with for an approval. Approving names it, so that nothing else is approved."""

    gate: Gate = Field(description="`plan`: before the agent edits; `publish`: before anything is pushed.")
    name: str = Field(description="To be given to `approve` or `publish`.", examples=["4b825dc642cb6eb9"])


class PullLink(Answer):
    """A pull request of a run."""

    number: int = Field(examples=[12])
    url: str = Field(examples=["https://github.com/acme/shop/pull/12"])


class Run(Answer):
    """One issue that is worked on: what the rest of the documentation calls a task."""

    id: int = Field(examples=[7])
    state: State
    reason: Reason | None = Field(description="Why it is blocked or cancelled.")
    detail: str
    next_step: str = Field(description="Who does what next, in words.")
    forge: str = Field(examples=["github"])
    repository: str = Field(examples=["acme/shop"])
    issue: int = Field(examples=[31])
    title: str = Field(examples=["The total is a cent too high"])
    category: Category
    requested_by: str = Field(examples=["mia"])
    created_at: datetime
    updated_at: datetime
    attempts: int = Field(description="How many attempts count against the cap.")
    spent_usd: str = Field(description="Dollars, open reservations included.", examples=["0.042100000"])
    waiting: Waiting | None = None
    pulls: tuple[PullLink, ...] = ()
    page: str = Field(default="", description="The run's page in the console, where an address is set.")


class Verdict(Answer):
    """What the harness saw of a change."""

    verified: bool
    summary: str
    tree: str


class RunAttempt(Answer):
    """One attempt of the agent."""

    number: int
    started_at: datetime
    ended_at: datetime | None
    outcome: Outcome | None = Field(description="null while it is under way.")
    steps: int
    spent_usd: str
    verdict: Verdict | None


class RunDetail(Run):
    """A run with its attempts."""

    attempt_list: tuple[RunAttempt, ...] = ()


class RunPage(Answer):
    """Some runs, newest first."""

    runs: tuple[Run, ...]
    next_before: int | None = Field(description="Give it as `before` for the next page; null: no more.")


class Health(Answer):
    """Whether the service takes deliveries and work is being done."""

    status: Literal["ok", "degraded"]
    version: str = Field(examples=["0.1.0"])
    takes_deliveries: bool
    worker_listens: bool = Field(description="Whether a worker process is there to be woken.")
    queued: int
    running: int
    oldest_queued_seconds: float = Field(description="How long the oldest due run has waited; 0 for none.")
