"""The route that tells whether the service takes deliveries, and whether work is being done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as installed_version

from fastapi import APIRouter

from app.api.models import Health
from app.api.run_routes import PROBLEMS
from domain.ports import Clock
from store.depth import QueueDepth


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReader:
    """Reads how the service is. Raises StoreUnavailable."""

    depth: QueueDepth
    clock: Clock
    takes_deliveries: Callable[[], bool]
    worker_listens: Callable[[], bool]

    def read(self) -> Health:
        """Return it as the API shows it."""
        found = self.depth.read(self.clock.now())
        takes, listens = self.takes_deliveries(), self.worker_listens()
        return Health(
            status="ok" if takes and listens else "degraded",
            version=installed_version("fixwright"),
            takes_deliveries=takes,
            worker_listens=listens,
            queued=found.by_state.get("queued", 0),
            running=found.by_state.get("running", 0),
            oldest_queued_seconds=found.oldest_due_seconds,
        )


def health_routes(reader: HealthReader) -> APIRouter:
    """Return the route."""
    router = APIRouter(tags=["service"], responses=PROBLEMS)

    @router.get("/health")
    def health() -> Health:
        """Tell how the service is; `/healthz` tells load balancers, without a token."""
        return reader.read()

    return router
