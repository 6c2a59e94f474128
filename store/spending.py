"""What was spent over some days, for the console: by day, repository, model and phase. Read only."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from domain.model import Money
from store.board import Scope
from store.database import Database
from store.rows import dollars

_SEEN = """(:scope IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:scope) AS place
        WHERE json_extract(place.value, '$[0]') = {table}.forge
            AND json_extract(place.value, '$[1]') = {table}.repository_id))"""

_GROUPS = f"""
    SELECT {{columns}}, sum(amount) AS spent, sum(reservation IS NULL) AS calls,
        coalesce(sum(input_tokens), 0) AS input_tokens, coalesce(sum(output_tokens), 0) AS output_tokens,
        coalesce(sum(cache_read_tokens), 0) AS cache_read_tokens
    FROM ledger
    WHERE day BETWEEN :first AND :last AND {_SEEN.format(table="ledger")}
    GROUP BY {{columns}}
"""

_PHASES = f"""
    SELECT phases.name AS name, sum(cost) AS spent, count(*) AS calls, sum(seconds) AS seconds
    FROM attempts JOIN tasks ON tasks.id = task_id JOIN phases ON phases.attempt_id = attempts.id
    WHERE substr(phases.started_at, 1, 10) BETWEEN :first AND :last AND {_SEEN.format(table="tasks")}
    GROUP BY phases.name
"""

_NAME = """
    SELECT repository_name FROM tasks WHERE forge = ? AND repository_id = ? ORDER BY id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of what was spent: of a day, a repository or a model. Open reservations count in `spent`."""

    name: str
    spent: Money
    calls: int
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseShare:
    """What calls in one phase of attempts cost, how often it was gone through, and how long it took."""

    name: str
    spent: Money
    times: int
    seconds: float


class Spending:
    """Sums over the ledger. Days are UTC, as YYYY-MM-DD, both ends included."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def total(self, first: str, last: str, scope: Scope = None) -> Money:
        """Return the dollars of some days."""
        if scope is None:  # an index holds all that is needed
            query = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE day BETWEEN ? AND ?"
            with self._database.read() as connection:
                return dollars(connection.execute(query, (first, last)).fetchone()[0])
        return sum((share.spent for share in self.by_day(first, last, scope)), Money(0))

    def by_day(self, first: str, last: str, scope: Scope = None) -> list[Share]:
        """Return the days on which something was spent, oldest first."""
        rows = self._rows("day", first, last, scope)
        return sorted((_share(row, row["day"]) for row in rows), key=lambda share: share.name)

    def by_model(self, first: str, last: str, scope: Scope = None) -> list[Share]:
        """Return the models, dearest first."""
        return _dearest([_share(row, row["model"]) for row in self._rows("model", first, last, scope)])

    def by_place(self, first: str, last: str, scope: Scope = None) -> list[Share]:
        """Return the repositories as forge:owner/name, dearest first."""
        rows = self._rows("forge, repository_id", first, last, scope)
        with self._database.read() as connection:
            names = [
                connection.execute(_NAME, (row["forge"], row["repository_id"])).fetchone() for row in rows
            ]
        return _dearest(
            [
                _share(row, f"{row['forge']}:{name[0] if name else row['repository_id']}")
                for row, name in zip(rows, names, strict=True)
            ]
        )

    def by_phase(self, first: str, last: str, scope: Scope = None) -> list[PhaseShare]:
        """Return the phases of attempts, dearest first."""
        with self._database.read() as connection:
            rows = connection.execute(_PHASES, _values(first, last, scope)).fetchall()
        shares = [
            PhaseShare(
                name=row["name"], spent=dollars(row["spent"]), times=row["calls"], seconds=row["seconds"]
            )
            for row in rows
        ]
        return sorted(shares, key=lambda share: (-share.spent, -share.seconds))

    def _rows(self, columns: str, first: str, last: str, scope: Scope) -> list[sqlite3.Row]:
        with self._database.read() as connection:
            return connection.execute(_GROUPS.format(columns=columns), _values(first, last, scope)).fetchall()


def _values(first: str, last: str, scope: Scope) -> dict[str, str | None]:
    shown = None if scope is None else json.dumps(sorted(scope))
    return {"first": first, "last": last, "scope": shown}


def _dearest(shares: list[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-share.spent, share.name))


def _share(row: sqlite3.Row, name: str) -> Share:
    return Share(
        name=name,
        spent=dollars(row["spent"]),
        calls=row["calls"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cache_read_tokens=row["cache_read_tokens"],
    )
