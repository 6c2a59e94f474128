"""Brings a delivery in once more from the body that was kept, as if its forge had sent it again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain.errors import FixwrightError
from domain.events import Event
from domain.policy import Serving, admit
from domain.ports import Admitted, Clock, Delivery, Inbox, WebhookDialect
from store.decisions import Decided, Decisions
from store.history import History

_EVENT_HEADERS = (
    b"x-github-event",
    b"x-gitea-event",
    b"x-forgejo-event",
    b"x-gitlab-event",
    b"x-fixwright-event",
)

_EVENT_NAMES = (
    *("issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"),
    *("check_run", "check_suite", "installation", "installation_repositories", "repository", "status"),
    *("push", "ping", "star", "label", "create", "delete", "workflow_run", "workflow_job"),
)
"""Headers are not kept with a body: the event's name is the one under which it means what it meant."""


class NotReplayable(FixwrightError):
    """There is no such delivery, or its body is gone, or it did not come from a forge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """Reads what was kept, and puts it before the same inbox. `rung` wakes the worker."""

    history: History
    decisions: Decisions
    dialects: Mapping[str, WebhookDialect]
    inbox: Inbox
    serving: Serving
    clock: Clock
    rung: Callable[[], object]

    def replay(self, record_id: int) -> Admitted:
        """Bring a delivery in again; its age does not count, and a newer word about the task does.

        Each replay is a delivery of its own, decided like one. Raises NotReplayable, StoreUnavailable.
        """
        found = self.decisions.one(record_id)
        if found is None:
            raise NotReplayable(f"there is no delivery {record_id}")
        dialect = self.dialects.get(found.provider)
        if dialect is None:
            raise NotReplayable(f"delivery {record_id} came from {found.provider}, not from a forge")
        body = self.history.delivery_body(record_id)
        if body is None:
            raise NotReplayable(f"the body of delivery {record_id} is not kept any more")
        now = self.clock.now()
        name = f"replay-{record_id}-{now:%Y%m%d%H%M%S%f}"
        delivery = Delivery(
            provider=found.provider,
            delivery_id=name,
            body_sha256=hashlib.sha256(name.encode("ascii") + body).hexdigest(),
            body=body,
            received_at=now,
            event=_event(found, dialect, body),
        )
        (admitted,) = self.inbox.accept([delivery], lambda event: admit(event, self.serving))
        self.rung()
        return admitted


def _event(found: Decided, dialect: WebhookDialect, body: bytes) -> Event:
    """Read the body under each event's name until it means what it meant. Raises NotReplayable."""
    for name in _EVENT_NAMES:
        headers = [(header, name.encode("ascii")) for header in _EVENT_HEADERS]
        try:
            event = dialect.parse(body, headers)
        except ValueError:
            continue
        if type(event).__name__ == found.kind:
            return event
    raise NotReplayable(f"the body of delivery {found.id} does not mean {found.kind} any more")
