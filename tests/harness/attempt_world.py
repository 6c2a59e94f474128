"""What an attempt needs around it, in miniature: a journal in memory, an order, a bench on real git."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from domain.claim import Claim, Restatement
from domain.errors import Stopped
from domain.model import Actor, Attempt, Category, IssueRef, Repository, Task, Verdict
from domain.ports import Agent, Sandbox, SandboxPolicy
from domain.repo_config import RepoConfig
from domain.states import State
from harness.attempt import AttemptResult, AttemptRun, Bench, Order
from harness.handoff import PastAttempt
from harness.journal import PhaseNote
from harness.localize import NullLocalizer
from harness.meter import AttemptMeter
from harness.order import SessionWrapper, as_it_is
from harness.setup.phase import SetupPhase
from tests.harness.agent.world import a_meter
from tests.harness.git_world import Standing, World
from tests.worker.town import Stage

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEMORY, DISK = 123 * 2**20, 321 * 2**20
"""Bytes that the operator lets sandboxed commands have."""


@dataclass
class MemoryJournal:
    """Keeps what it is told. `stop_in` names the phase before which the attempt must end."""

    restatement: Restatement | None = None
    claim: Claim | None = None
    steps: list[Mapping[str, object]] = field(default_factory=list)
    phases: list[tuple[str, str]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    base: str = ""
    heeded: list[tuple[RepoConfig, str | None]] = field(default_factory=list)
    stop_in: str = ""

    @contextmanager
    def phase(self, name: str) -> Iterator[PhaseNote]:
        if name == self.stop_in:
            raise Stopped("asked to stop")
        note = PhaseNote()
        try:
            yield note
        finally:
            self.phases.append((name, note.text))

    def heeds(self, config: RepoConfig, *, elsewhere: str | None) -> None:
        self.heeded.append((config, elsewhere))

    def based_on(self, base_sha: str) -> None:
        self.base = base_sha

    def restated(self, restatement: Restatement) -> None:
        self.restatement = restatement

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        self.steps.append({**record, "step": step})

    def claimed(self, claim: Claim) -> None:
        self.claim = claim

    def judged(self, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def clock_in(self) -> float:
        return 0.0

    def summed_up(self, summary: str) -> None:
        self.summaries.append(summary)

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def listen(self) -> tuple[str, ...]:
        return ()

    def should_stop(self) -> bool:
        return False

    def past_steps(self) -> tuple[Mapping[str, object], ...]:
        return tuple(self.steps)

    def past_claim(self) -> Claim | None:
        return self.claim

    def past_restatement(self) -> Restatement | None:
        return self.restatement


def a_task(category: Category = Category.BUG) -> Task:
    return Task(
        id=1,
        issue=IssueRef(forge="local", repository_id="7", number=3),
        repository_name="acme/lamp",
        category=category,
        title="double(5) is 7",
        body="I expect 10.",
        requested_by=Actor(id="1", login="mika"),
        state=State.RUNNING,
        created_at=NOW,
        updated_at=NOW,
    )


class Workshop:
    """A repository with files, and attempts on it."""

    def __init__(self, root: Path, files: Mapping[str, str], owner: tuple[int, int] | None = None) -> None:
        self.world = World(root, owner)
        self.base = self.world.commit(files)
        self.stage = Stage()
        self.journal = MemoryJournal()

    def order(self, *, category: Category = Category.BUG, past: tuple[PastAttempt, ...] = ()) -> Order:
        return Order(
            task=a_task(category),
            attempt=Attempt(id=5, task_id=1, number=len(past) + 1, started_at=NOW),
            repository=Repository(
                forge="local",
                id="7",
                full_name="acme/lamp",
                default_branch="main",
                private=False,
                archived=False,
                url="http://forge.invalid/acme/lamp",
            ),
            access=Standing(self.world.access),
            start_branch="",
            past=past,
        )

    def attempt(
        self,
        agent: Agent,
        order: Order | None = None,
        *,
        meter: AttemptMeter | None = None,
        sandbox: Sandbox | None = None,
        setup: SetupPhase | None = None,
        wrap: SessionWrapper = as_it_is,
    ) -> AttemptResult:
        bench = Bench(
            sandbox=sandbox or self.stage,
            workspaces=self.world.places,
            agent=agent,
            localizer=NullLocalizer(),
            limits=lambda place: SandboxPolicy(
                writable=place.tree, scratch=place.scratch, memory_bytes=MEMORY, disk_bytes=DISK
            ),
            setup=setup,
            agent_session=wrap,
        )
        return AttemptRun(bench, order or self.order(), meter or a_meter(), self.journal).run()

    def left_over(self) -> list[str]:
        return [path.name for path in (self.world.root / "data" / "work").iterdir()]


def retried(order: Order, **changes: object) -> Order:
    """Return the order of the next attempt, with what is known of the last one replaced."""
    last = replace(order.past[-1], **changes)  # type: ignore[arg-type]
    return replace(order, past=(*order.past[:-1], last))
