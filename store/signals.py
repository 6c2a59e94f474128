"""Signals: events that concern a task and wait for the worker's decision."""

from __future__ import annotations

from domain.ports import Clock, Signal
from store.database import Database
from store.documents import event_from
from store.rows import storable, time_text


class SignalRecords:
    """The part of the task queue that keeps signals; the inbox writes them."""

    _database: Database
    _clock: Clock

    def signals(self) -> list[Signal]:
        """Return signals not yet decided, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, task_id, kind, event FROM signals WHERE decided_at IS NULL ORDER BY id"
            ).fetchall()
        return [
            Signal(id=row["id"], task_id=row["task_id"], event=event_from(row["kind"], row["event"]))
            for row in rows
        ]

    def decide(self, signal: Signal, decision: str) -> None:
        """Record what became of a signal; it is not returned again. The first decision stands."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE signals SET decision = ?, decided_at = ? WHERE id = ? AND decided_at IS NULL",
                (storable(decision), time_text(self._clock.now()), signal.id),
            )
