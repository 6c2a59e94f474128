"""The overview, the lists of tasks, the repositories, the spend and the health, as plain values."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from app.console_charts import SpendChart, spend_chart
from app.console_view import Reading
from app.console_words import PHASES, next_step
from domain.budget import utc_day
from domain.model import Money, Task
from domain.states import State
from store.board import BoardLine, Choice, PlaceLine, Scope
from store.delivery_list import ListedDelivery
from store.spending import PhaseShare, Share

SHOWN = 12
"""Tasks in one list of the overview; a link leads to the rest."""

ENDED_SHOWN = 6

DELIVERIES_SHOWN = 6

PAGE = 50

SPAN_DAYS = (7, 30, 90)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLine:
    """A task in a list of the overview: what is next, its place in the queue, and how far it is."""

    line: BoardLine
    next_step: str
    position: int = 0
    phase: str = ""

    @property
    def task(self) -> Task:
        """The task."""
        return self.line.task

    @property
    def phases_done(self) -> int:
        """How many of the usual phases are over; the one after them is under way."""
        return PHASES.index(self.phase) if self.phase in PHASES else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CapUse:
    """What was spent of a cap in dollars."""

    name: str
    spent: Money
    cap: Money

    @property
    def percent(self) -> int:
        """The part that is used; beyond 100 nothing more is begun."""
        return min(100, int(self.spent * 100 / self.cap)) if self.cap else 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The first page."""

    now: datetime
    counts: dict[State, int]
    running: list[LiveLine]
    queued: list[LiveLine]
    blocked: list[LiveLine]
    in_review: list[LiveLine]
    ended: list[LiveLine]
    today: CapUse
    month: Money
    places_today: list[CapUse]
    deliveries: list[ListedDelivery]
    repositories: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """One page of a list of tasks. Pages count from 1."""

    lines: list[LiveLine]
    page: int
    pages: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacePage:
    """The repositories: served ones without a task yet are names alone."""

    lines: list[PlaceLine]
    untouched: list[str]
    daily_cap: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendPage:
    """The spend of the last days."""

    days: int
    first: str
    last: str
    total: Money
    chart: SpendChart
    by_day: list[Share]
    by_place: list[Share]
    by_model: list[Share]
    by_phase: list[PhaseShare]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """One line of health. `standing`: ok, warn, fail or unknown."""

    subject: str
    standing: str
    words: str
    at: datetime | None = None
    fix: str = ""


def read_overview(reading: Reading, scope: Scope = None) -> Overview:
    """Read the first page. Raises StoreUnavailable."""
    now = reading.clock.now()
    day = utc_day(now)
    month = reading.spending.total(f"{day[:7]}-01", day, scope)
    places = reading.spending.by_place(day, day, scope)
    summary = reading.board.summary(SHOWN, scope)

    def newest(state: State, limit: int = SHOWN) -> list[LiveLine]:
        ids = summary.newest.get(state, [])[:limit]
        return _live(reading, reading.board.lines_of(ids), None) if ids else []

    queue = Choice(states=(State.QUEUED,), scope=scope)
    return Overview(
        now=now,
        counts=summary.counts,
        running=newest(State.RUNNING),
        queued=_live(reading, reading.board.lines(queue, order="turn", limit=SHOWN), 0),
        blocked=newest(State.BLOCKED),
        in_review=newest(State.IN_REVIEW),
        ended=newest(State.DONE, ENDED_SHOWN),
        today=CapUse(
            name="today",
            spent=sum((share.spent for share in places), Money(0)),
            cap=reading.service_cap,
        ),
        month=month,
        places_today=[CapUse(name=share.name, spent=share.spent, cap=reading.daily_cap) for share in places],
        deliveries=reading.deliveries.page(DELIVERIES_SHOWN, scope=scope),
        repositories=reading.repositories,
    )


def read_tasks(reading: Reading, choice: Choice, page: int) -> TaskPage:
    """Read one page of a list. Raises StoreUnavailable."""
    total = reading.board.count(choice)
    pages = max(1, -(-total // PAGE))
    page = max(1, min(page, pages))
    order = "turn" if choice.states == (State.QUEUED,) else "newest"
    lines = reading.board.lines(choice, order=order, limit=PAGE, offset=(page - 1) * PAGE)
    before = (page - 1) * PAGE if order == "turn" else None
    return TaskPage(lines=_live(reading, lines, before), page=page, pages=pages, total=total)


def read_places(reading: Reading, scope: Scope = None) -> PlacePage:
    """Read the repositories. Raises StoreUnavailable."""
    lines = reading.board.places(scope)
    known = {line.full_name.lower() for line in lines}
    untouched = sorted(reading.repositories - known) if scope is None else []
    return PlacePage(lines=lines, untouched=untouched, daily_cap=reading.daily_cap)


def read_spend_page(reading: Reading, days: int, scope: Scope = None) -> SpendPage:
    """Read the spend of the last `days` UTC days. Raises StoreUnavailable."""
    today = reading.clock.now().astimezone(UTC).date()
    start = today - timedelta(days=days - 1)
    first, last = start.isoformat(), today.isoformat()
    by_day = reading.spending.by_day(first, last, scope)
    return SpendPage(
        days=days,
        first=first,
        last=last,
        total=sum((share.spent for share in by_day), Money(0)),
        chart=_chart(by_day, start, days),
        by_day=by_day[::-1],
        by_place=reading.spending.by_place(first, last, scope),
        by_model=reading.spending.by_model(first, last, scope),
        by_phase=reading.spending.by_phase(first, last, scope),
    )


def _chart(by_day: list[Share], start: date, days: int) -> SpendChart:
    return spend_chart({share.name: share.spent for share in by_day}, start, days)


def read_health(reading: Reading, *, is_worker_heard: bool) -> list[Sign]:
    """Read the signs of life that this process may know. Raises StoreUnavailable."""
    now, vitals = reading.clock.now(), reading.vitals()
    oldest = reading.board.oldest_due(now)
    return [
        Sign(subject="Web process", standing="ok", words="It answers, and the database can be read."),
        _worker(is_worker_heard, vitals.running, vitals.lease_until, now),
        Sign(subject="Database", standing="ok", words=f"Schema {vitals.schema}."),
        _disk(reading),
        _queue(oldest, now),
        _signals(vitals.signals, vitals.signal_at, now),
        Sign(
            subject="Errands",
            standing="ok",
            words=f"{vitals.errands} wait for the worker." if vitals.errands else "None waits.",
        ),
        _last("Last delivery", vitals.delivery_at, "From a forge, with a good signature."),
        _last("Last word decided", vitals.decided_at, "The forge told the worker who may ask."),
        _last("Last push", vitals.published_at, "A branch or pull request that the forge took."),
        _last("Last model answer", vitals.model_at, f"By {vitals.model}." if vitals.model else ""),
        _last("Last attempt ended", vitals.attempt_at, "Whatever came of it."),
        Sign(
            subject="Sandbox",
            standing="ok" if vitals.isolation else "unknown",
            words=vitals.isolation or "No tests have run yet; `fixwright doctor` tries it.",
        ),
    ]


def _worker(is_heard: bool, running: int, lease_until: datetime | None, now: datetime) -> Sign:
    if not is_heard:
        return Sign(
            subject="Worker",
            standing="fail",
            words="Nobody listens on its socket: nothing is being worked on.",
            fix="Start it: fixwright work. Its log says why it ended.",
        )
    if lease_until is not None and lease_until < now - timedelta(minutes=1):
        return Sign(
            subject="Worker",
            standing="warn",
            words="It listens, but the lease of a running task is over.",
            at=lease_until,
            fix="Look at its log; the task is taken up again by itself.",
        )
    return Sign(subject="Worker", standing="ok", words=f"It listens, with {running} running.")


def _disk(reading: Reading) -> Sign:
    if reading.data_dir is None:
        return Sign(subject="Disk", standing="unknown", words="Not known here.")
    usage = shutil.disk_usage(reading.data_dir)
    free = usage.free // 2**20
    words = f"{free:,} MiB free of {usage.total // 2**20:,}."
    if free < 200:
        fix = "Make room; docs/how-to/disk.md tells what is kept and how long."
        return Sign(subject="Disk", standing="fail" if free < 50 else "warn", words=words, fix=fix)
    return Sign(subject="Disk", standing="ok", words=words)


def _queue(oldest: datetime | None, now: datetime) -> Sign:
    if oldest is None:
        return Sign(subject="Queue", standing="ok", words="No task that is due waits.")
    is_old = now - oldest > timedelta(hours=1)
    return Sign(
        subject="Queue",
        standing="warn" if is_old else "ok",
        words="The task that waits longest could have begun",
        at=oldest,
        fix="One worker works on one task at a time; see whether it is stuck, or start another."
        if is_old
        else "",
    )


def _signals(waiting: int, since: datetime | None, now: datetime) -> Sign:
    if not waiting or since is None:
        return Sign(subject="Words of people", standing="ok", words="None waits for the worker.")
    is_old = now - since > timedelta(minutes=5)
    return Sign(
        subject="Words of people",
        standing="warn" if is_old else "ok",
        words=f"{waiting} wait for the worker, the oldest since",
        at=since,
        fix="The worker is away, or its forge does not answer; see its log." if is_old else "",
    )


def _last(subject: str, at: datetime | None, words: str) -> Sign:
    return Sign(
        subject=subject, standing="ok" if at else "unknown", words=words if at else "Never yet.", at=at
    )


def _live(reading: Reading, lines: list[BoardLine], before: int | None) -> list[LiveLine]:
    """Add what is next to each line; `before` counts those ahead where they stand in the queue's order."""
    return [
        LiveLine(
            line=line,
            next_step=next_step(line.task),
            position=0 if before is None else before + at,
            phase=_phase(reading, line),
        )
        for at, line in enumerate(lines, start=1)
    ]


def _phase(reading: Reading, line: BoardLine) -> str:
    """Return the phase that a running task is in, by its transcript, else the one after the last."""
    if line.task.state is not State.RUNNING or not line.attempt_id:
        return ""
    known = reading.shelf.phase(line.attempt_id)
    if known:
        return known
    after = PHASES.index(line.phase) + 1 if line.phase in PHASES else 0
    return PHASES[min(after, len(PHASES) - 1)]
