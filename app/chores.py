"""Which chores the worker has, how often, and within which limits: the wiring of its housekeeping."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import structlog

from app.settings import WorkerSettings
from domain.policy import Serving
from domain.ports import Clock
from store.database import Database
from store.inbox import SqliteInbox
from worker.housekeeping import Chore, Housekeeping, Steps
from worker.sweeps import Pace, Sweeper
from worker.task_work import Shop

log = structlog.get_logger(__name__)

BODIES_KEPT = timedelta(days=30)
"""How long the bodies of deliveries are kept; what was decided about them stays."""

MINUTE = 60.0


def housekeeping(settings: WorkerSettings, shop: Shop, serving: Serving, database: Database) -> Housekeeping:
    """Return what the worker does between tasks."""
    inbox = SqliteInbox(database, settings.labels)
    chores = [
        Chore(
            name="database",
            every_seconds=MINUTE,
            steps=partial(_keep_database, database, inbox, shop.clock),
        )
    ]
    if settings.sweep_minutes:
        sweeper = Sweeper(
            shop.queue,
            inbox,
            shop.forges,
            serving=serving,
            clock=shop.clock,
            pace=Pace(most_tasks=settings.sweep_tasks, reach=timedelta(days=settings.sweep_days)),
        )
        minutes = settings.sweep_minutes * MINUTE
        chores.insert(0, Chore(name="sweep", every_seconds=minutes, steps=sweeper.steps))
    return Housekeeping(chores, shop.clock)


def _keep_database(database: Database, inbox: SqliteInbox, clock: Clock) -> Steps:
    """Forget old deliveries' bodies, cut the write-ahead log."""
    forgotten = inbox.forget_bodies(clock.now() - BODIES_KEPT)
    emptied = database.checkpoint()
    log.info("kept house", bodies_forgotten=forgotten, log_emptied=emptied)
    yield 0.0
