"""What became of deliveries: what was decided at the door, and later by the worker. Read only."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from domain.ports import Admission
from store.database import Database
from store.rows import moment_of, optional_moment

_SELECT = """
    SELECT deliveries.*, coalesce(signals.decision, errands.decision) AS decision,
        coalesce(signals.decided_at, errands.decided_at) AS decided_at,
        signals.id IS NOT NULL OR errands.id IS NOT NULL AS is_heard
    FROM deliveries
    LEFT JOIN signals ON signals.delivery = deliveries.id
    LEFT JOIN errands ON errands.delivery = deliveries.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A delivery with what was decided; `decision` is None while the worker has not, or never will.

    `is_awaited` says that the worker has it before it.
    """

    id: int
    provider: str
    delivery_id: str
    body_sha256: str
    received_at: datetime
    kind: str
    actor: str
    note: str
    repository_id: str | None
    issue_number: int | None
    admission: Admission
    task_id: int | None
    decision: str | None
    decided_at: datetime | None
    is_awaited: bool


class Decisions:
    """Reads them. Every method raises StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def named(self, provider: str, delivery_id: str) -> Decided | None:
        """Return a delivery by its sender's name for it, or None."""
        return self._one("WHERE provider = ? AND delivery_id = ?", (provider, delivery_id))

    def one(self, record_id: int) -> Decided | None:
        """Return a delivery by our own number, or None."""
        return self._one("WHERE deliveries.id = ?", (record_id,))

    def page(self, limit: int, before: int | None = None) -> list[Decided]:
        """Return at most `limit` deliveries that came before that number, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                f"{_SELECT} WHERE ?1 IS NULL OR deliveries.id < ?1 ORDER BY deliveries.id DESC LIMIT ?2",
                (before, limit),
            ).fetchall()
        return [_decided(row) for row in rows]

    def _one(self, where: str, values: tuple[str | int, ...]) -> Decided | None:
        with self._database.read() as connection:
            row = connection.execute(f"{_SELECT} {where}", values).fetchone()
        return None if row is None else _decided(row)


def _decided(row: sqlite3.Row) -> Decided:
    return Decided(
        id=row["id"],
        provider=row["provider"],
        delivery_id=row["delivery_id"],
        body_sha256=row["body_sha256"],
        received_at=moment_of(row["received_at"]),
        kind=row["kind"],
        actor=row["actor"],
        note=row["note"],
        repository_id=row["repository_id"],
        issue_number=row["issue_number"],
        admission=Admission(row["admission"]),
        task_id=row["task_id"],
        decision=row["decision"],
        decided_at=optional_moment(row["decided_at"]),
        is_awaited=bool(row["is_heard"]) and row["decided_at"] is None,
    )
