"""Signals: events that concern a task and wait for the worker's decision."""

from __future__ import annotations

from domain.operators import OPERATOR_PROVIDER
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
                "SELECT signals.id, signals.task_id, signals.kind, event, provider FROM signals"
                " JOIN deliveries ON deliveries.id = delivery WHERE decided_at IS NULL ORDER BY signals.id"
            ).fetchall()
        return [
            Signal(
                id=row["id"],
                task_id=row["task_id"],
                event=event_from(row["kind"], row["event"]),
                by_operator=row["provider"] == OPERATOR_PROVIDER,
            )
            for row in rows
        ]

    def heard_comments(self, task_id: int, before: int | None = None) -> frozenset[str]:
        """Return the ids of comments whose commands reached the task, or did so before this signal."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT json_extract(signals.event, '$.comment_id') AS comment_id"
                " FROM deliveries JOIN signals ON signals.delivery = deliveries.id"
                " WHERE deliveries.task_id = ?1 AND signals.kind = 'CommandGiven'"
                " AND (?2 IS NULL OR signals.id < ?2)",
                (task_id, before),
            ).fetchall()
        return frozenset(row["comment_id"] for row in rows)

    def decide(self, signal: Signal, decision: str) -> None:
        """Record what became of a signal; it is not returned again. The first decision stands."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE signals SET decision = ?, decided_at = ? WHERE id = ? AND decided_at IS NULL",
                (storable(decision), time_text(self._clock.now()), signal.id),
            )
