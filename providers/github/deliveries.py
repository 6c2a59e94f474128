"""Webhooks that GitHub could not hand over: it never tries again by itself, but it keeps a record."""

from __future__ import annotations

from datetime import datetime

from domain.errors import NotFound
from domain.ports import MissedDelivery
from providers.github import shapes
from providers.github.app import App
from providers.github.calls import Json, Query, Reply

MOST_PAGES_READ = 50
"""Of 100 deliveries each."""


def missed(app: App, since: datetime) -> tuple[MissedDelivery, ...]:
    """Return the deliveries since then of which no sending was answered with success, oldest first.

    Several sendings of one delivery share its guid; the newest of them is the one to send again.
    """
    heard: set[str] = set()
    missed: dict[str, MissedDelivery] = {}
    for item in _records(app, since):
        guid = shapes.text(item.get("guid"))
        code = item.get("status_code")
        status = code if isinstance(code, int) else 0
        if 200 <= status < 300:
            heard.add(guid)
        elif guid not in missed:
            missed[guid] = MissedDelivery(
                id=str(shapes.whole(item.get("id"), "delivery's id")),
                guid=guid,
                event=shapes.text(item.get("event")),
                action=shapes.text(item.get("action")),
                at=shapes.moment(item.get("delivered_at"), "delivery's time"),
                status_code=status,
                repository_id=str(where) if isinstance(where := item.get("repository_id"), int) else "",
            )
    found = [delivery for guid, delivery in missed.items() if guid not in heard]
    return tuple(sorted(found, key=lambda delivery: (delivery.at, int(delivery.id))))


def _records(app: App, since: datetime) -> list[Json]:
    """Return the record, newest first, up to the first delivery before `since`."""
    found: list[Json] = []

    def ask(query: Query) -> Reply:
        return app.call("GET", "/app/hook/deliveries", query)

    for number, reply in enumerate(app.api.pages(ask), start=1):
        items = shapes.objects(reply.data, "deliveries")
        fresh = [
            each for each in items if shapes.moment(each.get("delivered_at"), "delivery's time") >= since
        ]
        found += fresh
        if len(fresh) < len(items) or number >= MOST_PAGES_READ:
            break
    return found


def redeliver(app: App, delivery_id: str) -> None:
    """Have a delivery sent again. Raises NotFound, ForgeError."""
    if not delivery_id.isascii() or not delivery_id.isdecimal():
        raise NotFound(f"there is no delivery {delivery_id[:40]!r}")
    app.call("POST", f"/app/hook/deliveries/{delivery_id}/attempts")
