"""Which chores the worker has, how often, and within which limits: the wiring of its housekeeping."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import structlog

from app.settings import WorkerSettings
from domain.policy import Serving
from domain.ports import Clock
from domain.watching import Patience
from store.database import Database
from store.inbox import SqliteInbox
from store.redeliveries import SqliteRedeliveries
from worker.ci_watch import CiWatcher
from worker.contract_reading import ContractReader
from worker.expiry import DraftExpiry
from worker.housekeeping import Chore, Housekeeping, Steps
from worker.redelivery import Redeliverer
from worker.retention import Keeping, MirrorKeeper, keep_transcripts
from worker.setup_keeping import keep_setups
from worker.sweeps import Pace, Sweeper
from worker.task_work import Shop
from worker.thumbs import ThumbDesk

log = structlog.get_logger(__name__)

MINUTE = 60.0
HOUR = 60 * MINUTE
MEBIBYTE = 2**20
TIDY_EVERY = timedelta(days=7)
"""How often a mirror is packed anew."""


def housekeeping(settings: WorkerSettings, shop: Shop, serving: Serving, database: Database) -> Housekeeping:
    """Return what the worker does between tasks."""
    inbox, clock = SqliteInbox(database, settings.labels), shop.clock
    mirrors = _mirror_keeper(settings, shop)
    transcripts = partial(
        keep_transcripts, shop.transcripts, shop.queue, clock, _keeping(settings, "transcripts")
    )
    bodies = partial(_keep_bodies, inbox, clock, _keeping(settings, "deliveries"))
    chores = [
        *_sweeps(settings, shop, serving, database),
        Chore(name="drafts", every_seconds=HOUR, steps=_expiry(settings, shop).steps),
        *([Chore(name="queue", every_seconds=MINUTE, steps=shop.waiting.steps)] if shop.waiting else []),
        Chore(name="approvals", every_seconds=MINUTE, steps=_thumbs(shop, inbox, serving).steps),
        Chore(name="bodies", every_seconds=HOUR, steps=bodies),
        Chore(
            name="ci",
            every_seconds=float(settings.ci_poll_seconds),
            steps=CiWatcher(
                shop, Patience.of_minutes(settings.ci_appear_minutes, settings.ci_finish_minutes)
            ).steps,
        ),
        Chore(name="checkpoint", every_seconds=MINUTE, steps=partial(_checkpoint, database)),
        Chore(name="mirrors", every_seconds=10 * MINUTE, steps=mirrors.make_room),
        Chore(name="set-ups", every_seconds=HOUR, steps=partial(_keep_setups, settings, shop)),
        Chore(name="transcripts", every_seconds=HOUR, steps=transcripts),
        Chore(name="tidying", every_seconds=HOUR, steps=mirrors.tidy),
    ]
    return Housekeeping(chores, clock)


def _sweeps(settings: WorkerSettings, shop: Shop, serving: Serving, database: Database) -> list[Chore]:
    if not settings.sweep_minutes:
        return []
    sweeper = Sweeper(
        shop.queue,
        SqliteInbox(database, settings.labels, settings.max_queued),
        shop.forges,
        serving=serving,
        clock=shop.clock,
        pace=Pace(
            most_tasks=settings.sweep_tasks,
            reach=timedelta(days=settings.sweep_days),
            most_queued=settings.max_queued,
        ),
    )
    sweeper.places = shop.desk.places
    redeliverer = Redeliverer(SqliteRedeliveries(database), shop.forges, serving, shop.clock)
    reader = ContractReader(forges=shop.forges, serving=serving, labels=shop.contracts)
    every = settings.sweep_minutes * MINUTE
    # The files come first: a sweep looks for the labels that they name.
    return [
        Chore(name="redeliveries", every_seconds=every, steps=redeliverer.steps),
        Chore(name="contracts", every_seconds=every, steps=reader.steps),
        Chore(name="sweep", every_seconds=every, steps=sweeper.steps),
    ]


def _thumbs(shop: Shop, inbox: SqliteInbox, serving: Serving) -> ThumbDesk:
    return ThumbDesk(queue=shop.queue, forges=shop.forges, inbox=inbox, serving=serving, clock=shop.clock)


def _expiry(settings: WorkerSettings, shop: Shop) -> DraftExpiry:
    return DraftExpiry(
        queue=shop.queue,
        contracts=shop.contracts,
        forges=shop.forges,
        clock=shop.clock,
        patience=timedelta(days=settings.expire_drafts_days),
        tell=shop.desk.has_moved,
    )


def _mirror_keeper(settings: WorkerSettings, shop: Shop) -> MirrorKeeper:
    return MirrorKeeper(
        shop.bench.workspaces,
        shop.queue,
        shop.clock,
        _keeping(settings, "mirrors"),
        least_free_bytes=settings.min_free_mb * MEBIBYTE,
        tidy_every=TIDY_EVERY,
    )


def _keeping(settings: WorkerSettings, what: str) -> Keeping:
    days, megabytes = {
        "deliveries": (settings.keep_deliveries_days, settings.keep_deliveries_mb),
        "transcripts": (settings.keep_transcripts_days, settings.keep_transcripts_mb),
        "mirrors": (settings.keep_mirrors_days, settings.keep_mirrors_mb),
        "setups": (settings.keep_setups_days, settings.keep_setups_mb),
    }[what]
    return Keeping(age=timedelta(days=days), most_bytes=megabytes * MEBIBYTE)


def _keep_setups(settings: WorkerSettings, shop: Shop) -> Steps:
    if shop.bench.setup is None:
        return iter(())
    keeping, least = _keeping(settings, "setups"), settings.min_free_mb * MEBIBYTE
    return keep_setups(
        shop.bench.setup.cache, shop.bench.workspaces, shop.clock, keeping, least_free_bytes=least
    )


def _checkpoint(database: Database) -> Steps:
    """Copy the write-ahead log into the database, and cut it to nothing."""
    database.checkpoint()
    yield 0.0


def _keep_bodies(inbox: SqliteInbox, clock: Clock, keeping: Keeping) -> Steps:
    """Forget old bodies of deliveries; freed pages of the database are used again, not given back."""
    total = 0
    while forgotten := inbox.forget_bodies(clock.now() - keeping.age, keeping.most_bytes, at_most=50):
        total += forgotten
        yield 0.0
    if total:
        log.info("bodies of deliveries forgotten", packs=total)
