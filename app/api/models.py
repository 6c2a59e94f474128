"""What the API answers, as typed and described JSON. Money is text in dollars, times are ISO 8601 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from domain.approving import Gate
from domain.model import Category, Outcome, Reason
from domain.ports import Admission
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


class RunRequest(BaseModel):
    """Which issue is to be worked on."""

    model_config = ConfigDict(extra="forbid", str_max_length=1000)

    issue: str = Field(
        min_length=1,
        description="The issue's address, or forge:owner/name#number.",
        examples=["https://github.com/acme/shop/issues/31"],
    )
    kind: Category | None = Field(
        default=None, description="The kind of work; else what the issue's labels say, else a bug."
    )


class Approval(BaseModel):
    """What is approved, by its whole name."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[0-9a-f]{40}$", examples=["4b825dc642cb6eb9a060e54bf8d69288fbee4904"])


class Acted(Answer):
    """What became of a request."""

    run: RunDetail | None = Field(description="The run as it stands now; null while there is none yet.")
    delivery: int | None = Field(
        default=None, description="Where the request is written down: /deliveries/{id}."
    )
    decision: str | None = Field(default=None, description="What the worker decided; null: not yet.")


class DeliveryLine(Answer):
    """A delivery with what was decided about it."""

    id: int
    provider: str = Field(description="The forge, or who asked here: `operator`, `guest`, `console`.")
    delivery_id: str
    received_at: datetime
    kind: str = Field(examples=["IssueLabelled"])
    actor: str
    note: str = Field(description="Its label, its command, or why it means nothing.")
    repository_id: str | None
    issue: int | None
    admission: Admission = Field(description="What was decided at the door.")
    run: int | None
    decision: str | None = Field(description="What the worker decided later; null: not yet, or never.")
    decided_at: datetime | None


class DeliveryPage(Answer):
    """Some deliveries, newest first."""

    deliveries: tuple[DeliveryLine, ...]
    next_before: int | None


class Replayed(Answer):
    """What was decided about a delivery that was brought in once more."""

    admission: Admission
    run: int | None


class SpendLine(Answer):
    """What one run cost on one UTC day with one model; `spent_usd` includes what is set aside."""

    day: str
    repository: str
    run: int
    issue: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    spent_usd: str
    open_calls: int
    open_usd: str
    estimated: bool


class Spend(Answer):
    """What was spent, and today's cap of the whole service."""

    lines: tuple[SpendLine, ...]
    spent_usd: str
    today: str
    spent_today_usd: str
    cap_today_usd: str
