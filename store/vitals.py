"""Signs of life that the database holds: what came, what went out, what waits. Read only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.database import Database
from store.documents import verdict_from
from store.rows import optional_moment

_SIGNS = """
    SELECT
        (SELECT max(received_at) FROM deliveries WHERE id > (SELECT max(id) - 50 FROM deliveries))
            AS delivery_at,
        (SELECT max(done_at) FROM publications) AS published_at,
        (SELECT at FROM ledger WHERE reservation IS NOT NULL ORDER BY id DESC LIMIT 1) AS model_at,
        (SELECT model FROM ledger ORDER BY id DESC LIMIT 1) AS model,
        (SELECT count(*) FROM signals WHERE decided_at IS NULL) AS signals,
        (SELECT min(received_at) FROM signals JOIN deliveries ON deliveries.id = signals.delivery
            WHERE signals.decided_at IS NULL) AS signal_at,
        (SELECT count(*) FROM errands WHERE decided_at IS NULL) AS errands,
        (SELECT count(*) FROM tasks WHERE state = 'running') AS running,
        (SELECT min(lease_until) FROM tasks WHERE state = 'running') AS lease_until,
        (SELECT max(decided_at) FROM signals WHERE id > (SELECT max(id) - 50 FROM signals)) AS decided_at,
        (SELECT max(ended_at) FROM attempts WHERE id > (SELECT max(id) - 50 FROM attempts)) AS attempt_at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """When something last went well, and what waits; None where it never did.

    `model_at` is the last call that was answered and paid, `published_at` the last push that a forge took,
    `decided_at` the last word from outside that the worker has decided with a look at its forge.
    `lease_until` is when the first running task is given up. `isolation` is that of the newest verdict.
    """

    schema: int
    delivery_at: datetime | None
    decided_at: datetime | None
    published_at: datetime | None
    model_at: datetime | None
    model: str
    attempt_at: datetime | None
    signals: int
    signal_at: datetime | None
    errands: int
    running: int
    lease_until: datetime | None
    isolation: str


def read_vitals(database: Database) -> Vitals:
    """Return the signs of life. Raises StoreUnavailable."""
    with database.read() as connection:
        row = connection.execute(_SIGNS).fetchone()
        schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
        newest = connection.execute(
            "SELECT verdict FROM attempts WHERE verdict IS NOT NULL ORDER BY id DESC LIMIT 1"
        ).fetchone()
    return Vitals(
        schema=schema,
        delivery_at=optional_moment(row["delivery_at"]),
        decided_at=optional_moment(row["decided_at"]),
        published_at=optional_moment(row["published_at"]),
        model_at=optional_moment(row["model_at"]),
        model=row["model"] or "",
        attempt_at=optional_moment(row["attempt_at"]),
        signals=row["signals"],
        signal_at=optional_moment(row["signal_at"]),
        errands=row["errands"],
        running=row["running"],
        lease_until=optional_moment(row["lease_until"]),
        isolation=verdict_from(newest["verdict"]).isolation if newest else "",
    )
