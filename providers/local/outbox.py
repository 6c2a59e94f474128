"""Sends the webhooks of the embedded forge over HTTP, signed, after the commit that caused them."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from domain.errors import ForgeUnavailable, NotFound
from providers.local.database import Database
from providers.local.webhook_faults import WebhookFaults

EVENT_HEADER = "X-Fixwright-Event"
DELIVERY_HEADER = "X-Fixwright-Delivery"
SIGNATURE_HEADER = "X-Fixwright-Signature-256"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookHeaders:
    """The names of the headers that a delivery comes with, and who its sender says it is."""

    event: str = EVENT_HEADER
    delivery: str = DELIVERY_HEADER
    signature: str = SIGNATURE_HEADER
    agent: str = "Fixwright-Local-Hook/1"


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Where deliveries go, the secret that signs them, and how long an answer may take."""

    url: str
    secret: str = field(repr=False)
    timeout_seconds: float = 5.0
    headers: HookHeaders = field(default_factory=HookHeaders)

    def signature(self, payload: bytes) -> str:
        """Return the signature header's value for these exact bytes."""
        return "sha256=" + hmac.new(self.secret.encode(), payload, hashlib.sha256).hexdigest()

    def headers_of(self, delivery: HookDelivery) -> dict[str, str]:
        """Return all headers of a delivery."""
        return {
            "Content-Type": "application/json",
            "User-Agent": self.headers.agent,
            self.headers.event: delivery.event,
            self.headers.delivery: delivery.guid,
            self.headers.signature: self.signature(delivery.payload),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDelivery:
    """One delivery as recorded: `status` is pending, delivered or failed; `detail` says why it failed."""

    guid: str
    event: str
    action: str
    payload: bytes = field(repr=False)
    status: str
    detail: str
    attempts: int
    sent_at: datetime | None


class Outbox:
    """The recorded deliveries, and the sending of them. Sending never raises: it records what happened."""

    def __init__(
        self, database: Database, target: WebhookTarget | None, faults: WebhookFaults | None = None
    ) -> None:
        """Without a target, deliveries are recorded and stay pending."""
        self._database = database
        self._target = target
        self._faults = faults or WebhookFaults()

    def send_all(self, guids: Iterable[str]) -> None:
        """Send what a transaction has just recorded, as the fault plan has it."""
        for due in guids:
            for guid in self._faults.route(due):
                try:
                    self._send(guid)
                except ForgeUnavailable as error:
                    # What caused the delivery is committed; its author must not take it for undone.
                    _log.warning("a webhook could not be put on record", delivery=guid, problem=str(error))

    def release(self) -> None:
        """Send what the fault plan held back."""
        for guid in self._faults.release():
            self._send(guid)

    def redeliver(self, guid: str) -> HookDelivery:
        """Send a delivery again, with the same GUID and bytes, past any fault plan. Raises NotFound."""
        self._send(guid)
        return self.delivery(guid)

    def delivery(self, guid: str) -> HookDelivery:
        """Return a recorded delivery. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM hook_deliveries WHERE guid = ?", (guid,)).fetchone()
        if row is None:
            raise NotFound(f"there is no delivery {guid}")
        return _delivery(row)

    def deliveries(self) -> list[HookDelivery]:
        """Return every recorded delivery, oldest first."""
        with self._database.read() as connection:
            return [
                _delivery(row)
                for row in connection.execute("SELECT * FROM hook_deliveries ORDER BY position")
            ]

    def send_to(self, target: WebhookTarget) -> None:
        """Send what happens from now on by way of this object to a target of its own."""
        self._target = target

    def configure(self, target: WebhookTarget) -> None:
        """Set on the forge where webhooks go, whoever acts, in this process or another."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO webhook (id, url, secret) VALUES (1, ?, ?)",
                (target.url, target.secret),
            )

    def _configured(self) -> WebhookTarget | None:
        with self._database.read() as connection:
            row = connection.execute("SELECT url, secret FROM webhook").fetchone()
        return WebhookTarget(url=row["url"], secret=row["secret"]) if row else None

    def _send(self, guid: str) -> None:
        delivery = self.delivery(guid)
        target = self._target or self._configured()
        if target is None:
            return
        problem = _post(target, delivery)
        if problem:
            _log.warning(
                "a webhook was not delivered", delivery=guid, hook_event=delivery.event, problem=problem
            )
        with self._database.write() as connection:
            connection.execute(
                "UPDATE hook_deliveries SET status = ?, detail = ?, attempts = attempts + 1, sent_at = ?"
                " WHERE guid = ?",
                ("failed" if problem else "delivered", problem, datetime.now(UTC).isoformat(), guid),
            )


def _post(target: WebhookTarget, delivery: HookDelivery) -> str:
    """Send one delivery; return what went wrong, or ""."""
    import httpx

    try:
        answer = httpx.post(
            target.url,
            content=delivery.payload,
            headers=target.headers_of(delivery),
            timeout=target.timeout_seconds,
            trust_env=False,
            # Loading the authorities takes time and memory that a loopback address has no use for.
            verify=target.url.startswith("https:"),
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"
    return "" if answer.is_success else f"answered {answer.status_code}"


def _delivery(row: sqlite3.Row) -> HookDelivery:
    return HookDelivery(
        guid=row["guid"],
        event=row["event"],
        action=row["action"],
        payload=row["payload"],
        status=row["status"],
        detail=row["detail"],
        attempts=row["attempts"],
        sent_at=datetime.fromisoformat(row["sent_at"]) if row["sent_at"] else None,
    )
