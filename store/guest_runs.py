"""What guests of the open API have under way, and what their runs have cost on a day."""

from __future__ import annotations

from domain.guests import GUEST
from domain.model import Money
from store.database import Database
from store.rows import dollars

_UNDER_WAY = """
    SELECT (SELECT count(*) FROM tasks
            WHERE requester_id = ?1 AND state IN ('queued', 'running', 'watching'))
        + (SELECT count(*) FROM errands JOIN deliveries ON deliveries.id = delivery
            WHERE decided_at IS NULL AND provider = ?1)
"""

_SPENT = """
    SELECT coalesce(sum(amount), 0)
    FROM tasks JOIN ledger ON task_id = tasks.id
    WHERE requester_id = ? AND day = ?
"""


class GuestRuns:
    """Reads them. Every method raises StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def under_way(self) -> int:
        """Return how many runs wait or are worked on, or were asked for and not decided yet."""
        with self._database.read() as connection:
            return int(connection.execute(_UNDER_WAY, (GUEST.id,)).fetchone()[0])

    def spent_on(self, day: str) -> Money:
        """Return dollars on a UTC day (YYYY-MM-DD), open reservations included."""
        with self._database.read() as connection:
            return dollars(int(connection.execute(_SPENT, (GUEST.id, day)).fetchone()[0]))
