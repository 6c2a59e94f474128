"""Joins the parts of /metrics on the web process' database and settings."""

from __future__ import annotations

from fastapi import APIRouter

from app.clock import SystemClock
from app.metrics.route import metrics_routes
from app.setting_groups import WebSettings
from app.wake import Bell
from store.database import Database
from store.depth import QueueDepth
from store.figures import FigureReader


def metrics_of(settings: WebSettings, database: Database) -> APIRouter:
    """Return the route; Prometheus' library is loaded when the page is first asked for."""
    bell = Bell(settings.bell_path)

    def page() -> tuple[bytes, str]:
        from app.metrics.page import CONTENT_TYPE, MetricsReader

        reader = MetricsReader(
            figures=FigureReader(database),
            depth=QueueDepth(database),
            clock=SystemClock(),
            cap_today=settings.max_daily_cost_total_usd,
            worker_listens=bell.is_heard,
        )
        return reader.page(), CONTENT_TYPE

    return metrics_routes(
        page,
        settings.console_token.get_secret_value(),
        is_near_enough=settings.metrics_access == "loopback",
    )
