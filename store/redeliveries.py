"""Which deliveries a forge was asked to send again, how often and when last."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from domain.ports import Asked, RedeliveryLog
from store.database import Database
from store.rows import moment_of, time_text


class SqliteRedeliveries(RedeliveryLog):
    """`domain.ports.RedeliveryLog` on a database."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def known(self, provider: str, delivery_ids: Sequence[str]) -> frozenset[str]:
        """Return those of the delivery ids that are in the inbox already."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT delivery_id FROM json_each(?) AS item JOIN deliveries"
                " ON provider = ? AND delivery_id = item.value",
                (json.dumps(list(delivery_ids)), provider),
            ).fetchall()
        return frozenset(row["delivery_id"] for row in rows)

    def asked(self, provider: str, delivery_ids: Sequence[str]) -> dict[str, Asked]:
        """Return what was asked for before, by delivery id."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT delivery_id, times, asked_at FROM json_each(?) AS item JOIN redeliveries"
                " ON provider = ? AND delivery_id = item.value",
                (json.dumps(list(delivery_ids)), provider),
            ).fetchall()
        return {row["delivery_id"]: Asked(times=row["times"], at=moment_of(row["asked_at"])) for row in rows}

    def note(self, provider: str, delivery_id: str, at: datetime) -> None:
        """Write down that a delivery is asked for now: before it is, so that no crash loses count."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO redeliveries (provider, delivery_id, times, asked_at) VALUES (?, ?, 1, ?)"
                " ON CONFLICT DO UPDATE SET times = times + 1, asked_at = excluded.asked_at",
                (provider, delivery_id, time_text(at)),
            )
