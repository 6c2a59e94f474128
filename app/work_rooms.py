"""The parts of the worker that serve no single task: errands, who waits, and what guests may still spend."""

from __future__ import annotations

from collections.abc import Mapping

from app.clock import SystemClock
from app.setting_groups import WorkerSettings
from domain.budget import utc_day
from domain.model import Money
from domain.policy import Serving
from domain.ports import Clock, Forge, Ledger, TaskQueue
from domain.text import Redactor
from store.guest_runs import GuestRuns
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from worker.errands import ErrandDesk
from worker.new_commands import NewCommandDesk
from worker.status_desk import StatusDesk
from worker.waiting_room import WaitingRoom


def waiting_room_of(
    settings: WorkerSettings,
    queue: TaskQueue,
    ledger: Ledger,
    forges: Mapping[str, Forge],
    serving: Serving,
    redact: Redactor,
) -> WaitingRoom:
    """Return who tells people whose issues wait."""
    desk = StatusDesk(queue=queue, ledger=ledger, caps=settings.caps, pages=settings.public_url)
    return WaitingRoom(
        queue=queue, forges=forges, desk=desk, serving=serving, clock=SystemClock(), redact=redact
    )


def errands_of(
    settings: WorkerSettings,
    inbox: SqliteInbox,
    queue: SqliteTaskQueue,
    forges: Mapping[str, Forge],
    serving: Serving,
) -> ErrandDesk:
    """Return who does what concerns no single task."""
    clock = SystemClock()
    commands = NewCommandDesk(inbox=inbox, forges=forges, clock=clock, queue=queue)
    is_swept = settings.sweep_minutes > 0
    desk = ErrandDesk(queue, forges, serving, is_swept=is_swept, clock=clock, commands=commands)
    desk.inbox = inbox
    return desk


def guest_room_of(settings: WorkerSettings, runs: GuestRuns, clock: Clock) -> Money:
    """Return what is left of today's dollars for the runs of guests."""
    return settings.api_guest_daily_usd - runs.spent_on(utc_day(clock.now()))
