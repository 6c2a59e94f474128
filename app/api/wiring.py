"""Joins the parts of the API on the web process' database and settings."""

from __future__ import annotations

from collections.abc import Mapping

from app.api.act_routes import ActParts, act_routes
from app.api.application import ApiParts
from app.api.asking import AskingDesk
from app.api.caller import Rules
from app.api.guests import GuestCaps
from app.api.health import HealthReader
from app.api.news import NewsReader
from app.api.record_routes import RecordParts, record_routes
from app.api.stream import TaskStreams
from app.api.views import RunReader
from app.clock import SystemClock
from app.group_commit import DeliveryWriter
from app.http_limits import Ending
from app.replay import Replayer
from app.setting_groups import CommonSettings, WebSettings
from app.wake import Bell
from domain.ports import WebhookDialect
from domain.text import Redactor
from store.database import Database
from store.decisions import Decisions
from store.depth import QueueDepth
from store.guest_runs import GuestRuns
from store.history import History
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.progress import Progress
from store.spend import SpendLines
from store.task_pages import TaskPages
from store.tasks import SqliteTaskQueue


def api_parts(
    settings: WebSettings,
    database: Database,
    writer: DeliveryWriter,
    ending: Ending,
    dialects: Mapping[str, WebhookDialect],
) -> ApiParts:
    """Return what the API is made of."""
    clock = SystemClock()
    redact = Redactor(settings.secrets())
    runs = RunReader(
        queue=SqliteTaskQueue(database, clock),
        ledger=SqliteLedger(database, clock),
        pages=TaskPages(database),
        redact=redact,
        public_url=settings.public_url,
    )
    return ApiParts(
        rules=Rules(
            token=settings.console_token.get_secret_value(),
            is_open=settings.api_open,
            origins=settings.api_origins,
        ),
        runs=runs,
        streams=task_streams(settings, database, ending, redact),
        health=HealthReader(
            depth=QueueDepth(database),
            clock=clock,
            takes_deliveries=lambda: writer.is_alive,
            worker_listens=Bell(settings.bell_path).is_heard,
        ),
        more=(
            act_routes(_acts(settings, database, writer, runs)),
            record_routes(_records(settings, database, dialects)),
        ),
    )


def _acts(settings: WebSettings, database: Database, writer: DeliveryWriter, runs: RunReader) -> ActParts:
    clock = SystemClock()
    return ActParts(
        reader=runs,
        desk=AskingDesk(tell=writer.store, decisions=Decisions(database), clock=clock),
        serving=settings.serving({}),
        github_api_url=settings.github_api_url,
        guests=GuestCaps(
            runs=GuestRuns(database),
            clock=clock,
            most_runs=settings.api_guest_runs,
            daily_usd=settings.api_guest_daily_usd,
        ),
    )


def _records(
    settings: WebSettings, database: Database, dialects: Mapping[str, WebhookDialect]
) -> RecordParts:
    clock, decisions = SystemClock(), Decisions(database)
    return RecordParts(
        decisions=decisions,
        replayer=replayer_of(settings, database, dialects),
        spend=SpendLines(database),
        clock=clock,
        cap_today=settings.max_daily_cost_total_usd,
    )


def replayer_of(
    settings: CommonSettings, database: Database, dialects: Mapping[str, WebhookDialect]
) -> Replayer:
    """Return what brings deliveries in once more."""
    return Replayer(
        history=History(database),
        decisions=Decisions(database),
        dialects=dialects,
        inbox=SqliteInbox(database, settings.labels, settings.max_queued),
        serving=settings.serving({}),
        clock=SystemClock(),
        rung=Bell(settings.bell_path).ring,
    )


def task_streams(settings: WebSettings, database: Database, ending: Ending, redact: Redactor) -> TaskStreams:
    """Return the streams of tasks' stories; one for the whole process."""
    reader = NewsReader(Progress(database), settings.data_dir / "transcripts", redact)
    return TaskStreams(reader, is_ending=lambda: ending.is_asked)
