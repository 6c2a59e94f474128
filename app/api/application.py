"""The API as one application, to be mounted at /api/v1: the gate, the routes, and their description."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version as installed_version

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from app.api.caller import Gate, Rules
from app.api.health import HealthReader, health_routes
from app.api.problems import install
from app.api.run_routes import run_routes
from app.api.stream import TaskStreams
from app.api.views import RunReader

PREFIX = "/api/v1"

_ABOUT = """
Runs of Fixwright for programs. Every request carries the operator's token as `Authorization: Bearer TOKEN`
(FIXWRIGHT_CONSOLE_TOKEN); without one set, there is no API. What goes wrong is answered as
`application/problem+json` with `name`, `problem` and `way_out`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiParts:
    """What the API is made of."""

    rules: Rules
    runs: RunReader
    streams: TaskStreams
    health: HealthReader
    more: tuple[APIRouter, ...] = ()


def api_application(parts: ApiParts) -> ASGIApp:
    """Return the API behind its gate."""
    return Gate(described(parts), parts.rules)


def described(parts: ApiParts) -> FastAPI:
    """Return the API without its gate: its `openapi()` is the description."""
    application = FastAPI(
        title="Fixwright",
        description=_ABOUT,
        version=installed_version("fixwright"),
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        servers=[{"url": PREFIX}],
        root_path_in_servers=False,
    )
    install(application)
    application.include_router(run_routes(parts.runs, parts.streams))
    application.include_router(health_routes(parts.health))
    for router in parts.more:
        application.include_router(router)
    return application
