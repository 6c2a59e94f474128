"""What was spent, for people to read: by day, repository, task and model. Reads beside a running worker."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from domain.errors import ConfigurationError, StoreUnavailable
from domain.model import Money
from store.migrate import known_migrations, schema_version
from store.rows import dollars

_OLDEST = 3
"""The schema that first had all that is read here."""

_PATIENCE_SECONDS = 5.0

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


def read_spend(path: Path, *, day: str | None = None, repository: str | None = None) -> list[SpendLine]:
    """Return the lines of one UTC day (YYYY-MM-DD) and one repository (owner/name, or forge:owner/name).

    Raises:
        ConfigurationError: there is no such database, or it is not of this version.
        StoreUnavailable: it cannot be read now.
    """
    values = {"day": day, "repository": repository.lower() if repository else None}
    with _reading(path) as connection:
        rows = connection.execute(_LINES, values).fetchall()
    return [_line(row) for row in rows]


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise ConfigurationError(
            f"database {path}: there is none; FIXWRIGHT_DATA_DIR names its directory, and the service makes "
            "it at its first start"
        )
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=_PATIENCE_SECONDS
        )
        try:
            connection.row_factory = sqlite3.Row
            _check_version(connection, path)
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(f"database {path}: cannot be read now ({error})") from error
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(f"database {path}: is not one ({error}); choose another path") from error


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    if schema_version(connection, str(path), known=len(known_migrations())) < _OLDEST:
        raise ConfigurationError(
            f"database {path}: is of an older version; the service of this version upgrades it at its start"
        )


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
