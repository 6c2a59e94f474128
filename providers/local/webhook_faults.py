"""What can go wrong between a forge and a webhook's receiver, as a plan that tests hand in."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum


class WebhookFault(StrEnum):
    """What happens to one delivery."""

    DROP = "drop"
    """Never sent; only `redeliver` brings it."""

    DELAY = "delay"
    """Held back until `release`."""

    DUPLICATE = "duplicate"
    """Sent twice, with the same GUID and bytes."""

    REORDER = "reorder"
    """Sent right after the delivery that follows it."""


class WebhookFaults:
    """Routes deliveries by a plan: its entries are used up one per delivery, None means no fault."""

    def __init__(self, plan: Iterable[WebhookFault | None] = ()) -> None:
        self._plan = deque(plan)
        self._delayed: list[str] = []
        self._overtaken: list[str] = []

    def route(self, guid: str) -> list[str]:
        """Return the deliveries to send now that this one is due, in order."""
        fault = self._plan.popleft() if self._plan else None
        if fault is WebhookFault.DROP:
            return []
        if fault is WebhookFault.DELAY:
            self._delayed.append(guid)
            return []
        if fault is WebhookFault.REORDER:
            self._overtaken.append(guid)
            return []
        overtaken, self._overtaken = self._overtaken, []
        return [guid, *([guid] if fault is WebhookFault.DUPLICATE else []), *overtaken]

    def release(self) -> list[str]:
        """Return what is still held back, delayed or overtaken, and forget it."""
        held = self._delayed + self._overtaken
        self._delayed, self._overtaken = [], []
        return held
