"""The webhooks that were sent, as an App can look them up."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from app.demo.github.state import GithubState
from providers.local.outbox import HookDelivery

NO_ANSWER = 502


def sent_hooks(state: GithubState) -> list[dict[str, Any]]:
    """Return every webhook that was sent, oldest first; ids are positions, and so stay below other ids."""
    recorded = enumerate(state.local.deliveries(), start=1)
    return [_shown(number, hook, hook.sent_at) for number, hook in recorded if hook.sent_at is not None]


def _shown(number: int, hook: HookDelivery, at: datetime) -> dict[str, Any]:
    return {
        "id": number,
        "guid": hook.guid,
        "delivered_at": f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "redelivery": hook.attempts > 1,
        "duration": 0.1,
        "status": "OK" if hook.status == "delivered" else hook.detail,
        "status_code": _status_code(hook),
        "event": hook.event,
        "action": hook.action or None,
        "installation_id": 1,
        "repository_id": json.loads(hook.payload).get("repository", {}).get("id"),
    }


def _status_code(hook: HookDelivery) -> int:
    if hook.status == "delivered":
        return 202
    answered = re.fullmatch(r"answered (\d{3})", hook.detail)
    return int(answered[1]) if answered else NO_ANSWER
