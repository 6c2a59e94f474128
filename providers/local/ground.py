"""The directory that an embedded forge lives in, and the transactions by which everything in it changes."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from domain.model import Actor
from providers.local.bare import BareRepository
from providers.local.database import Database
from providers.local.outbox import Outbox, WebhookTarget
from providers.local.webhook_faults import WebhookFaults

FORGE_NAME = "local"

BOT = Actor(id="1", login="fixwright[bot]", is_bot=True)
"""The service's own account in every embedded forge."""

GHOST = Actor(id="0", login="ghost")
"""Stands for everybody who was deleted."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One moment of the world, and what has to be told about it once it is committed."""

    connection: sqlite3.Connection
    root: Path
    now: str
    announced: list[str] = field(default_factory=list)

    def one(self, sql: str, *values: object) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        row: sqlite3.Row | None = self.connection.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Return every row of a query."""
        return self.connection.execute(sql, values).fetchall()

    def run(self, sql: str, *values: object) -> sqlite3.Cursor:
        """Execute a statement that writes; the cursor tells how many rows, and the new row's id."""
        return self.connection.execute(sql, values)

    def git(self, full_name: str) -> BareRepository:
        """Return a repository's git side."""
        return BareRepository(self.root / "repos" / f"{full_name}.git")

    def announce(self, event: str, payload: Mapping[str, object]) -> None:
        """Record a webhook in this transaction; its bytes are fixed here and never made again."""
        guid = str(uuid.uuid4())
        self.run(
            "INSERT INTO hook_deliveries (guid, event, action, payload, created_at) VALUES (?, ?, ?, ?, ?)",
            guid,
            event,
            str(payload.get("action", "")),
            json.dumps(payload, separators=(",", ":")).encode(),
            self.now,
        )
        self.announced.append(guid)


class Ground:
    """A directory with `forge.db` and `repos/`; any number of processes may stand on it at once."""

    def __init__(
        self, root: Path, webhook: WebhookTarget | None = None, faults: WebhookFaults | None = None
    ) -> None:
        """Open the directory, and lay it out when it is new. Raises ConfigurationError."""
        self.root = root.resolve()
        self._database = Database(self.root / "forge.db")
        self.outbox = Outbox(self._database, webhook, faults)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """Look at one moment of the world. Raises ForgeUnavailable."""
        with self._database.read() as connection:
            yield Transaction(connection, self.root, _now())

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Change the world, then send the webhooks about it. Raises ForgeUnavailable."""
        with self._database.write() as connection:
            transaction = Transaction(connection, self.root, _now())
            yield transaction
        self.outbox.send_all(transaction.announced)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
