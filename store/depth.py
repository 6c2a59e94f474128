"""How many tasks stand where, and how long the oldest due one has waited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from store.database import Database
from store.rows import moment_of, time_text

_OLDEST_DUE = """
    SELECT min(max(updated_at, not_before)) AS since FROM tasks WHERE state = 'queued' AND not_before <= ?
"""


@dataclass(frozen=True, slots=True)
class Depth:
    """Tasks by state, and seconds since the oldest due one became due; 0 where none is due."""

    by_state: Mapping[str, int]
    oldest_due_seconds: float


class QueueDepth:
    """Reads it."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def read(self, now: datetime) -> Depth:
        """Return how deep the queue is now. Raises StoreUnavailable."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT state, count(*) AS count FROM tasks GROUP BY state").fetchall()
            oldest = connection.execute(_OLDEST_DUE, (time_text(now),)).fetchone()["since"]
        waited = (now - moment_of(oldest)).total_seconds() if oldest else 0.0
        return Depth({row["state"]: row["count"] for row in rows}, max(0.0, round(waited, 3)))
