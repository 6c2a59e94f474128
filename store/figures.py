"""Figures over all that is kept, for monitoring: counted by the database, so that no process has to count."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from store.database import Database
from store.rows import dollars

_COUNTS = {
    "deliveries": "SELECT provider, admission, count(*) FROM deliveries GROUP BY 1, 2",
    "tasks": "SELECT state, count(*) FROM tasks GROUP BY 1",
    "blocked_now": "SELECT reason, count(*) FROM tasks WHERE state = 'blocked' GROUP BY 1",
    "blocked": "SELECT coalesce(reason, ''), count(*) FROM task_events WHERE to_state = 'blocked'"
    " AND trigger = 'blocked' GROUP BY 1",
    "attempts": "SELECT outcome, count(*) FROM attempts WHERE outcome IS NOT NULL GROUP BY 1",
    "verifications": "SELECT outcome, count(*) FROM attempts"
    " WHERE outcome IS NOT NULL AND verdict IS NOT NULL GROUP BY 1",
    "pulls": "SELECT kind, count(*) FROM pull_outcomes GROUP BY 1",
}

_PHASES = "SELECT name, count(*), sum(seconds) FROM phases GROUP BY name"

_SPEND = """
    SELECT model, sum(amount), sum(reservation IS NULL),
        coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
        coalesce(sum(cache_read_tokens), 0), coalesce(sum(cache_write_tokens), 0)
    FROM ledger GROUP BY model
"""

_TODAY = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE day = ?"

_UNDECIDED = """
    SELECT (SELECT count(*) FROM signals WHERE decided_at IS NULL)
        + (SELECT count(*) FROM errands WHERE decided_at IS NULL)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFigures:
    """How often a phase was, and the seconds of all together."""

    count: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """What a model has cost in dollars, in how many calls, and its tokens by kind."""

    dollars: float
    calls: int
    tokens: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All of them. `counts` maps a name to counts by their labels."""

    counts: Mapping[str, Mapping[tuple[str, ...], int]]
    phases: Mapping[str, PhaseFigures]
    models: Mapping[str, ModelFigures]
    spent_today: float
    undecided: int
    wal_bytes: int


class FigureReader:
    """Reads them from one snapshot."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def read(self, today: str) -> Figures:
        """Return the figures as they are now; `today` is a UTC day. Raises StoreUnavailable."""
        with self._database.read() as connection:
            return Figures(
                counts={name: _counted(connection, query) for name, query in _COUNTS.items()},
                phases={
                    row[0]: PhaseFigures(count=row[1], seconds=row[2])
                    for row in connection.execute(_PHASES).fetchall()
                },
                models={row[0]: _model(row) for row in connection.execute(_SPEND).fetchall()},
                spent_today=float(dollars(connection.execute(_TODAY, (today,)).fetchone()[0])),
                undecided=connection.execute(_UNDECIDED).fetchone()[0],
                wal_bytes=self._database.wal_bytes(),
            )


def _counted(connection: sqlite3.Connection, query: str) -> dict[tuple[str, ...], int]:
    return {tuple(map(str, row[:-1])): row[-1] for row in map(tuple, connection.execute(query).fetchall())}


def _model(row: sqlite3.Row) -> ModelFigures:
    kinds = ("input", "output", "cache_read", "cache_write")
    return ModelFigures(
        dollars=float(dollars(row[1])), calls=row[2], tokens=dict(zip(kinds, tuple(row)[3:], strict=True))
    )
