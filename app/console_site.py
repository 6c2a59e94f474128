"""Joins the console to the settings and the database; without anybody who could log in there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import APIRouter

from app.console_oauth import GithubLogin
from app.console_transcript import TranscriptShelf
from app.console_view import Reading
from app.pages import ConsoleSite, console_router
from app.settings import WebSettings
from app.wake import Bell
from domain.errors import ConfigurationError
from domain.ports import Admitted, Clock, Delivery
from store.board import Board
from store.database import Database
from store.delivery_list import DeliveryList
from store.history import History
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.spending import Spending
from store.tasks import SqliteTaskQueue
from store.vitals import read_vitals


def console_of(
    settings: WebSettings,
    database: Database,
    clock: Clock,
    *,
    tell: Callable[[Delivery], Awaitable[Admitted]],
    is_ending: Callable[[], bool],
    replay: Callable[[int], Admitted] | None = None,
) -> APIRouter | None:
    """Return the console's routes, None where nobody could log in."""
    token, github = settings.console_token.get_secret_value(), _github_login(settings)
    if not token and github is None:
        return None
    return console_router(
        ConsoleSite(
            reading=_reading(settings, database, clock),
            token=token,
            tell=tell,
            is_worker_heard=Bell(settings.bell_path).is_heard,
            public_url=settings.public_url,
            github=github,
            is_ending=is_ending,
            replay=replay,
        )
    )


def _reading(settings: WebSettings, database: Database, clock: Clock) -> Reading:
    return Reading(
        queue=SqliteTaskQueue(database, clock),
        ledger=SqliteLedger(database, clock),
        history=History(database),
        clock=clock,
        receipts=SqliteReceipts(database, clock),
        board=Board(database),
        spending=Spending(database),
        deliveries=DeliveryList(database),
        shelf=TranscriptShelf(settings.data_dir / "transcripts"),
        vitals=lambda: read_vitals(database),
        daily_cap=settings.max_daily_cost_usd,
        service_cap=settings.max_daily_cost_total_usd,
        repositories=settings.repositories,
        data_dir=settings.data_dir,
    )


def _github_login(settings: WebSettings) -> GithubLogin | None:
    """Return how accounts log in, None where they may not. Raises ConfigurationError without an App."""
    if not settings.console_github:
        return None
    if not settings.github_client_id:
        raise ConfigurationError(
            "FIXWRIGHT_CONSOLE_GITHUB: is on, and there is no App to log in by; set "
            "FIXWRIGHT_GITHUB_CLIENT_ID and FIXWRIGHT_GITHUB_CLIENT_SECRET, or make one: fixwright app create"
        )
    return GithubLogin(
        api_url=settings.github_api_url,
        client_id=settings.github_client_id,
        client_secret=settings.github_client_secret.get_secret_value(),
        repositories=settings.repositories,
    )
