"""`/health`: whether the service can work, in one look and without a login; nothing in it is secret."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version as installed_version
from pathlib import Path

import structlog
from fastapi import APIRouter
from fastapi.responses import JSONResponse

from domain.errors import StoreUnavailable
from domain.ports import Clock
from store.depth import QueueDepth
from store.vitals import Vitals

log = structlog.get_logger(__name__)

LEAST_FREE_BYTES = 50 * 2**20
"""Of the disk. Below, neither deliveries nor an attempt's steps are safe for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Where the signs of life are read."""

    vitals: Callable[[], Vitals]
    depth: QueueDepth
    clock: Clock
    data_dir: Path
    takes_deliveries: Callable[[], bool]
    worker_listens: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is told. Times are ISO 8601 in UTC, None where it never happened; ages in seconds.

    `problems` are why the service cannot work, each with the way out; empty where it can. `sandbox` is the
    isolation of the newest judged attempt.
    """

    status: str
    version: str
    problems: tuple[str, ...]
    schema: int | None = None
    worker_listens: bool = False
    sandbox: str = ""
    queued: int = 0
    running: int = 0
    oldest_queued_seconds: float = 0.0
    last_delivery: str | None = None
    last_forge: str | None = None
    last_model: str | None = None
    last_attempt: str | None = None


def look(signs: Signs) -> Health:
    """Look at everything once. Raises nothing: what cannot be read is a problem among the others."""
    problems = []
    if not signs.takes_deliveries():
        problems.append("the delivery writer has stopped: restart the web process")
    listens = signs.worker_listens()
    if not listens:
        problems.append("no worker listens: start one with `fixwright work`, and read its log")
    free = shutil.disk_usage(signs.data_dir).free
    if free < LEAST_FREE_BYTES:
        problems.append(f"{free // 2**20} MiB of the disk are free: make room, see docs/how-to/disk.md")
    try:
        vitals, depth = signs.vitals(), signs.depth.read(signs.clock.now())
    except StoreUnavailable as error:
        log.warning(
            "the database cannot be read", error=str(error)
        )  # with its path, which is nobody's business
        problems.append("the database cannot be read: see the log of the web process, or `fixwright doctor`")
        return Health(
            status="failing",
            version=installed_version("fixwright"),
            problems=tuple(problems),
            worker_listens=listens,
        )
    return Health(
        status="failing" if problems else "ok",
        version=installed_version("fixwright"),
        problems=tuple(problems),
        schema=vitals.schema,
        worker_listens=listens,
        sandbox=vitals.isolation,
        queued=depth.by_state.get("queued", 0),
        running=depth.by_state.get("running", 0),
        oldest_queued_seconds=depth.oldest_due_seconds,
        last_delivery=_told(vitals.delivery_at),
        last_forge=_told(max(filter(None, (vitals.decided_at, vitals.published_at)), default=None)),
        last_model=_told(vitals.model_at),
        last_attempt=_told(vitals.attempt_at),
    )


def health_of(signs: Signs) -> APIRouter:
    """Return the route: 200 where the service can work, 503 and why where it cannot."""
    router = APIRouter()

    @router.get("/health")
    def health() -> JSONResponse:
        found = look(signs)
        return JSONResponse(asdict(found), status_code=503 if found.problems else 200)

    return router


def _told(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
