"""The chain of receipts: appended under the attempt's fence, never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from domain.errors import StaleWrite
from domain.model import Attempt, Outcome
from domain.ports import Clock
from domain.receipt import Receipt
from store.database import Database
from store.reading import reading
from store.rows import moment_of, time_text

_OLDEST = 4
"""The schema that first had receipts."""

# A cancel ends the attempt under its worker; what that worker saw of it is a fact all the same.
_HELD = """
    SELECT 1 FROM attempts JOIN tasks ON tasks.id = task_id
    WHERE attempts.id = ? AND attempts.generation = ? AND tasks.generation = attempts.generation
"""


class SqliteReceipts:
    """Implements `domain.ports.ReceiptLog`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def append(
        self,
        attempt: Attempt,
        outcome: Outcome,
        tree: str,
        write: Callable[[str], tuple[str, bytes]],
    ) -> Receipt:
        """Keep one receipt for this outcome and tree of an attempt; the link to the last is atomic.

        Raises StaleWrite, StoreUnavailable.
        """
        with self._database.write() as connection:
            if connection.execute(_HELD, (attempt.id, attempt.generation)).fetchone() is None:
                raise StaleWrite(f"attempt {attempt.id} is no longer held under {attempt.generation}")
            row = _same(connection, attempt.id, outcome, tree)
            if row is None:
                last = connection.execute("SELECT sha256 FROM receipts ORDER BY id DESC LIMIT 1").fetchone()
                previous = str(last["sha256"]) if last else ""
                sha256, envelope = write(previous)
                connection.execute(
                    "INSERT INTO receipts (sha256, previous, attempt_id, outcome, tree, at, envelope)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (sha256, previous, attempt.id, outcome, tree, time_text(self._clock.now()), envelope),
                )
                row = _same(connection, attempt.id, outcome, tree)
        if row is None:
            raise StaleWrite(f"the receipt of attempt {attempt.id} was not kept")
        return _receipt(row)

    def of_attempt(self, attempt_id: int) -> list[Receipt]:
        """Return an attempt's receipts, oldest first."""
        return self._rows("WHERE attempt_id = ?", attempt_id)

    def named(self, sha256: str) -> Receipt | None:
        """Return the receipt of this hash, or None."""
        found = self._rows("WHERE sha256 = ?", sha256)
        return found[0] if found else None

    def _rows(self, where: str, *values: str | int) -> list[Receipt]:
        with self._database.read() as connection:
            rows = connection.execute(f"SELECT * FROM receipts {where} ORDER BY id", values).fetchall()
        return [_receipt(row) for row in rows]


def read_receipts(path: Path) -> list[Receipt]:
    """Return the chain in a database file, oldest first. Raises ConfigurationError, StoreUnavailable."""
    with reading(path, oldest=_OLDEST) as connection:
        return [_receipt(row) for row in connection.execute("SELECT * FROM receipts ORDER BY id")]


def _same(connection: sqlite3.Connection, attempt_id: int, outcome: Outcome, tree: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM receipts WHERE attempt_id = ? AND outcome = ? AND tree = ?",
        (attempt_id, outcome, tree),
    ).fetchone()
    return row


def _receipt(row: sqlite3.Row) -> Receipt:
    return Receipt(
        sha256=row["sha256"],
        attempt_id=row["attempt_id"],
        outcome=Outcome(row["outcome"]),
        tree=row["tree"],
        envelope=row["envelope"],
        at=moment_of(row["at"]),
    )
