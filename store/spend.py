"""What was spent, for people to read: by day, repository, task and model. Reads beside a running worker."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from domain.model import Money
from store.database import Database
from store.reading import reading
from store.rows import dollars

_OLDEST = 3
"""The schema that first had all that is read here."""

_LINES = """
    SELECT day, ledger.forge, ledger.repository_id, repository_name, task_id, issue_number, model,
        sum(amount) AS spent, sum(reservation IS NULL) AS calls, max(estimated) AS estimated,
        coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
        coalesce(sum(cache_read_tokens), 0) AS cache_read_tokens,
        coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
        sum(is_open) AS open_calls, sum(iif(is_open, amount, 0)) AS open_amount
    FROM (
        SELECT *, reservation IS NULL
            AND NOT EXISTS (SELECT 1 FROM ledger AS settled WHERE settled.reservation = ledger.id) AS is_open
        FROM ledger
        WHERE :day IS NULL OR day = :day
    ) AS ledger
    JOIN tasks ON tasks.id = task_id
    WHERE :repository IS NULL
        OR lower(repository_name) = :repository OR lower(ledger.forge || ':' || repository_name) = :repository
    GROUP BY day, task_id, model
    ORDER BY day DESC, ledger.forge, repository_name, issue_number, model
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLine:
    """What one task cost on one UTC day with one model.

    `spent` includes `open_amount`: what is set aside for the `open_calls` calls of which no end is known.
    Tokens are those that the provider counted. `estimated` says that a stated upper price was taken.
    """

    day: str
    repository: str
    repository_id: str
    task: int
    issue: int
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    spent: Money
    open_calls: int
    open_amount: Money
    estimated: bool


class SpendLines:
    """Reads the same lines within a process of the service."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def read(self, *, day: str | None = None, repository: str | None = None) -> list[SpendLine]:
        """Return the lines of one UTC day and one repository. Raises StoreUnavailable."""
        with self._database.read() as connection:
            return _read(connection, day, repository)


def read_spend(path: Path, *, day: str | None = None, repository: str | None = None) -> list[SpendLine]:
    """Return the lines of one UTC day (YYYY-MM-DD) and one repository (owner/name, or forge:owner/name).

    Raises:
        ConfigurationError: there is no such database, or it is not of this version.
        StoreUnavailable: it cannot be read now.
    """
    with reading(path, oldest=_OLDEST) as connection:
        return _read(connection, day, repository)


def _read(connection: sqlite3.Connection, day: str | None, repository: str | None) -> list[SpendLine]:
    values = {"day": day, "repository": repository.lower() if repository else None}
    return [_line(row) for row in connection.execute(_LINES, values).fetchall()]


def _line(row: sqlite3.Row) -> SpendLine:
    return SpendLine(
        day=row["day"],
        repository=f"{row['forge']}:{row['repository_name']}",
        repository_id=row["repository_id"],
        task=row["task_id"],
        issue=row["issue_number"],
        model=row["model"],
        calls=row["calls"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cache_read_tokens=row["cache_read_tokens"],
        cache_write_tokens=row["cache_write_tokens"],
        spent=dollars(row["spent"]),
        open_calls=row["open_calls"],
        open_amount=dollars(row["open_amount"]),
        estimated=bool(row["estimated"]),
    )
