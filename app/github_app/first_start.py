"""The first start: the setup page is served until an App is in place, however it got there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import structlog
from starlette.applications import Starlette

from app.github_app.flow import ManifestFlow
from app.github_app.lock import CODE_SECONDS, CodeLock
from app.github_app.pages import SetupPages
from app.github_app.site import SetupSite
from app.github_app.waiting import LOOK_SECONDS, is_configured
from app.http_limits import Ending
from app.setting_groups import WebSettings
from providers.github.plugin import checked_api_url

log = structlog.get_logger(__name__)

Serve = Callable[[Starlette, Ending], None]
"""Serves an application until a signal or somebody else asks for its end."""


def serve_until_configured(settings: WebSettings, serve: Serve) -> bool:
    """Serve the setup page. Returns True once an App is in place, False when asked to stop before.

    Raises ConfigurationError where GitHub's address is none.
    """
    lock = CodeLock(partial(_announce, settings))
    site = SetupSite(
        flow=ManifestFlow(settings.data_dir, checked_api_url(settings.github_api_url)),
        lock=lock,
        public_url=settings.public_url,
        repositories=tuple(sorted(settings.repositories)),
    )
    lock.renew()
    ending = Ending()
    application = SetupPages(site).application(_watching(settings.data_dir, ending))
    serve(application, ending)
    return is_configured(settings.data_dir) and not ending.by_signal


def _announce(settings: WebSettings, code: str) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    here = "127.0.0.1" if settings.host in {"0.0.0.0", "::"} else host
    log.warning(
        "no GitHub App is configured: open the setup page with this code",
        code=code,
        page=f"{settings.public_url or f'http://{here}:{settings.port}'}/setup",
        minutes=round(CODE_SECONDS / 60),
        instead="FIXWRIGHT_WEBHOOK_SECRET, where the App was made by hand",
    )


def _watching(data_dir: Path, ending: Ending) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    async def watch() -> None:
        while not is_configured(data_dir):
            await asyncio.sleep(LOOK_SECONDS)
        ending.ask()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        watcher = asyncio.create_task(watch())
        yield
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher

    return lifespan
