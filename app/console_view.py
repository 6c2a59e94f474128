"""What the console's pages show, as plain values read from the ports; no HTML, no requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit

from app.console_words import next_step
from domain.budget import utc_day
from domain.claim import Claim, Restatement
from domain.model import Attempt, Phase, Publication, Task, Verdict
from domain.ports import Clock, Ledger, ReceiptLog, TaskQueue
from domain.receipt import Receipt
from domain.states import State
from store.history import DeliveryRecord, History, TaskEvent

MOST_SHOWN = 50
"""Tasks in one list of the overview; the rest is counted."""

ENDED_SHOWN = 10

DELIVERIES_SHOWN = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where the console reads from, and the caps of a day that it compares with."""

    queue: TaskQueue
    ledger: Ledger
    history: History
    clock: Clock
    receipts: ReceiptLog
    daily_cap: Decimal
    service_cap: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task in a list."""

    task: Task
    next_step: str
    spent: Decimal
    phase: str = ""
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """One list of the overview. `more` counts what is left out."""

    lines: tuple[TaskLine, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DailySpend:
    """What a repository, or all together, cost today in dollars; `share` is per cent of the cap."""

    repository: str
    spent: Decimal
    cap: Decimal

    @property
    def share(self) -> int:
        """The part of the cap that is used, at most 100."""
        return min(100, int(self.spent * 100 / self.cap)) if self.cap else 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The first page."""

    day: str
    running: TaskList
    queued: TaskList
    blocked: TaskList
    in_review: TaskList
    ended: TaskList
    spend: tuple[DailySpend, ...]
    deliveries: tuple[DeliveryRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt with all that is known of it; the model's words stand apart from the verdict."""

    attempt: Attempt
    phases: tuple[Phase, ...]
    spent: Decimal
    verdict: Verdict | None
    restatement: Restatement | None
    claim: Claim | None
    receipts: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """A task's page."""

    line: TaskLine
    attempts: tuple[AttemptView, ...]
    publications: tuple[Publication, ...]
    history: tuple[TaskEvent, ...]
    deliveries: tuple[DeliveryRecord, ...]


def read_overview(reading: Reading) -> Overview:
    """Read the first page. Raises StoreUnavailable."""
    tasks = reading.queue.tasks()
    day = utc_day(reading.clock.now())

    def listed(*states: State, limit: int = MOST_SHOWN) -> TaskList:
        return _task_list(reading, [task for task in tasks if task.state in states], limit)

    return Overview(
        day=day,
        running=listed(State.RUNNING),
        queued=_task_list(reading, [t for t in reversed(tasks) if t.state is State.QUEUED], MOST_SHOWN),
        blocked=listed(State.BLOCKED),
        in_review=listed(State.IN_REVIEW, State.WATCHING),
        ended=listed(State.DONE, State.CANCELLED, limit=ENDED_SHOWN),
        spend=_spend(reading, tasks, day),
        deliveries=tuple(reading.history.deliveries(DELIVERIES_SHOWN)),
    )


def read_task(reading: Reading, task_id: int) -> TaskView:
    """Read a task's page. Raises KeyError, StoreUnavailable."""
    queue = reading.queue
    task = queue.task(task_id)
    phases = queue.phases(task_id)
    return TaskView(
        line=_line(reading, task),
        attempts=tuple(
            _attempt_view(reading, attempt, (phase for number, phase in phases if number == attempt.number))
            for attempt in queue.attempts(task_id)
        ),
        publications=tuple(queue.publications(task_id)),
        history=tuple(reading.history.task_events(task_id)),
        deliveries=tuple(reading.history.deliveries(DELIVERIES_SHOWN, task_id=task_id)),
    )


def web_link(address: str) -> str:
    """Return an address if a browser may be sent there (http or https), else ""."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return address if parts.scheme in {"http", "https"} and parts.netloc else ""


def _task_list(reading: Reading, tasks: list[Task], limit: int) -> TaskList:
    lines = tuple(_line(reading, task) for task in tasks[:limit])
    return TaskList(lines=lines, more=max(0, len(tasks) - limit))


def _line(reading: Reading, task: Task) -> TaskLine:
    is_open = task.state in {State.RUNNING, State.IN_REVIEW, State.WATCHING, State.DONE}
    phases = reading.queue.phases(task.id) if task.state is State.RUNNING else []
    publications = reading.queue.publications(task.id) if is_open else []
    return TaskLine(
        task=task,
        next_step=next_step(task),
        spent=reading.ledger.spent_on_task(task.id),
        phase=phases[-1][1].name if phases else "",
        links=_links(publications),
    )


def _links(publications: Iterable[Publication]) -> tuple[tuple[str, str], ...]:
    """Return (words, address) of the pull requests, the address "" where a browser cannot go there."""
    found = {
        f"pull request #{publication.pull_number}": web_link(publication.url)
        for publication in publications
        if publication.pull_number is not None
    }
    return tuple(found.items())


def _attempt_view(reading: Reading, attempt: Attempt, phases: Iterable[Phase]) -> AttemptView:
    restatement, claim = reading.queue.report(attempt)
    return AttemptView(
        attempt=attempt,
        phases=tuple(phases),
        spent=reading.ledger.spent_on_attempt(attempt.id),
        verdict=reading.queue.verdict(attempt),
        restatement=restatement,
        claim=claim,
        receipts=tuple(reading.receipts.of_attempt(attempt.id)),
    )


def _spend(reading: Reading, tasks: list[Task], day: str) -> tuple[DailySpend, ...]:
    names: dict[tuple[str, str], str] = {}
    for task in tasks:
        names.setdefault((task.issue.forge, task.issue.repository_id), task.repository_name)
    each = tuple(
        DailySpend(
            repository=f"{forge}:{name}",
            spent=reading.ledger.spent_on_day(forge, repository_id, day),
            cap=reading.daily_cap,
        )
        for (forge, repository_id), name in names.items()
    )
    total = sum((one.spent for one in each), Decimal(0))
    together = DailySpend(repository="all repositories", spent=total, cap=reading.service_cap)
    return (*each, together) if each else ()
