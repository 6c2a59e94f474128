"""The web application: the webhook door in front, FastAPI behind it for health and the console."""

from __future__ import annotations

import asyncio
import gc
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.group_commit import DeliveryWriter
from app.intake import DOOR_PREFIX

log = structlog.get_logger(__name__)

STOP_SECONDS = 2.0
"""How long the writer may take for what still waits when the process is asked to stop."""


LEAST_FREE_BYTES = 2**20
"""Below, a delivery may find no room."""


class FrontDoor:
    """Sends webhooks straight to their door, and everything else to the application behind it."""

    def __init__(self, door: ASGIApp, behind: ASGIApp) -> None:
        self._door = door
        self._behind = behind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Choose by the path's beginning; FastAPI's routing costs half the door's rate."""
        is_delivery = scope["type"] == "http" and scope["path"].startswith(DOOR_PREFIX)
        await (self._door if is_delivery else self._behind)(scope, receive, send)


def create_app(
    door: ASGIApp,
    writer: DeliveryWriter,
    console: APIRouter | None,
    data_dir: Path | None = None,
    *,
    mounted: Mapping[str, ASGIApp] = MappingProxyType({}),
    more: Sequence[APIRouter] = (),
) -> ASGIApp:
    """Return the application. Without a console, its paths answer 404 like any other unknown one.

    `mounted` are applications of their own, each by the beginning of its paths, and `more` further routes.

    Where `data_dir` has no room left, health says so.
    """
    behind = FastAPI(
        title="Fixwright", docs_url=None, redoc_url=None, openapi_url=None, lifespan=_lifespan(writer)
    )

    @behind.get("/healthz")
    async def health() -> JSONResponse:
        """Tell whether deliveries are being taken. Does not wait for the database."""
        if not writer.is_alive:
            return JSONResponse({"status": "the delivery writer has stopped"}, status_code=503)
        if data_dir is not None and shutil.disk_usage(data_dir).free < LEAST_FREE_BYTES:
            return JSONResponse({"status": "the disk is full"}, status_code=503)
        return JSONResponse({"status": "ok"})

    @behind.get("/setup{rest:path}")
    async def setup(rest: str) -> PlainTextResponse:
        """Tell who comes back to the page of the first start that it is over."""
        return PlainTextResponse("The service is set up. To check it, run: fixwright doctor\n", 404)

    for router in (*([] if console is None else [console]), *more):
        behind.include_router(router)
    for prefix, application in mounted.items():
        behind.mount(prefix, application)
    return FrontDoor(door, behind)


def _lifespan(writer: DeliveryWriter) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        writer.start()
        gc.collect()
        gc.freeze()  # what start-up made is not looked at again: a quarter of the 99th percentile without it
        yield
        if not await asyncio.to_thread(writer.stop, STOP_SECONDS):
            log.error("deliveries left unanswered at the end")

    return lifespan
