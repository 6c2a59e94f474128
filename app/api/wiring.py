"""Joins the parts of the API on the web process' database and settings."""

from __future__ import annotations

from app.api.application import ApiParts
from app.api.caller import Rules
from app.api.health import HealthReader
from app.api.news import NewsReader
from app.api.stream import TaskStreams
from app.api.views import RunReader
from app.clock import SystemClock
from app.group_commit import DeliveryWriter
from app.http_limits import Ending
from app.setting_groups import WebSettings
from app.wake import Bell
from domain.text import Redactor
from store.database import Database
from store.depth import QueueDepth
from store.ledger import SqliteLedger
from store.progress import Progress
from store.task_pages import TaskPages
from store.tasks import SqliteTaskQueue


def api_parts(settings: WebSettings, database: Database, writer: DeliveryWriter, ending: Ending) -> ApiParts:
    """Return what the API is made of."""
    clock = SystemClock()
    redact = Redactor(settings.secrets())
    return ApiParts(
        rules=Rules(token=settings.console_token.get_secret_value()),
        runs=RunReader(
            queue=SqliteTaskQueue(database, clock),
            ledger=SqliteLedger(database, clock),
            pages=TaskPages(database),
            redact=redact,
            public_url=settings.public_url,
        ),
        streams=task_streams(settings, database, ending, redact),
        health=HealthReader(
            depth=QueueDepth(database),
            clock=clock,
            takes_deliveries=lambda: writer.is_alive,
            worker_listens=Bell(settings.bell_path).is_heard,
        ),
    )


def task_streams(settings: WebSettings, database: Database, ending: Ending, redact: Redactor) -> TaskStreams:
    """Return the streams of tasks' stories; one for the whole process."""
    reader = NewsReader(Progress(database), settings.data_dir / "transcripts", redact)
    return TaskStreams(reader, is_ending=lambda: ending.is_asked)
