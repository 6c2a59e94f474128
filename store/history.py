"""What the console shows of the past: deliveries with their decisions, and the moves of a task. Read only."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from domain.model import Reason
from domain.ports import Admission
from domain.states import Note, State, Trigger
from store.bodies import unpack
from store.database import Database
from store.rows import moment_of, optional_moment

_DELIVERIES = """
    SELECT deliveries.*, decision, decided_at
    FROM (
        SELECT id, provider, delivery_id, received_at, kind, repository_id, issue_number, actor, note,
            admission, task_id
        FROM deliveries
        WHERE :task_id IS NULL OR task_id = :task_id
        ORDER BY id DESC
        LIMIT :limit
    ) AS deliveries
    LEFT JOIN signals ON signals.delivery = deliveries.id
    ORDER BY deliveries.id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRecord:
    """A delivery as it was decided at the door and, if it became a signal, by the worker.

    `kind` names the event's class; `note` is its label, command, or why it means nothing to us.
    """

    id: int
    provider: str
    delivery_id: str
    received_at: datetime
    kind: str
    repository_id: str | None
    issue_number: int | None
    actor: str
    note: str
    admission: Admission
    task_id: int | None
    decision: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """One move of a task, or a note that moved nothing; `came_from` is None for its admission."""

    task_id: int
    at: datetime
    trigger: Trigger | Note
    came_from: State | None
    went_to: State
    generation: int
    reason: Reason | None
    detail: str


class History:
    """The past, for people to read."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def deliveries(self, limit: int = 100, *, task_id: int | None = None) -> list[DeliveryRecord]:
        """Return the newest deliveries (of one task), newest first. Duplicates leave no record."""
        with self._database.read() as connection:
            rows = connection.execute(_DELIVERIES, {"limit": limit, "task_id": task_id}).fetchall()
        return [delivery_from(row) for row in rows]

    def delivery_body(self, record_id: int) -> bytes | None:
        """Return the body exactly as it was received, None once retention took it. Raises KeyError."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT content, body_start, body_length FROM deliveries"
                " JOIN body_packs ON body_packs.id = body_pack WHERE deliveries.id = ?",
                (record_id,),
            ).fetchone()
        if row is None:
            raise KeyError(f"there is no delivery {record_id}")
        if row["content"] is None:
            return None
        return unpack(row["content"], row["body_start"], row["body_length"])

    def task_events(self, task_id: int) -> list[TaskEvent]:
        """Return every move of a task, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM task_events WHERE task_id = ? ORDER BY id", (task_id,)
            ).fetchall()
        return [event_from(row) for row in rows]


def delivery_from(row: sqlite3.Row) -> DeliveryRecord:
    """Return a row of `deliveries` with the decision about it."""
    return DeliveryRecord(
        id=row["id"],
        provider=row["provider"],
        delivery_id=row["delivery_id"],
        received_at=moment_of(row["received_at"]),
        kind=row["kind"],
        repository_id=row["repository_id"],
        issue_number=row["issue_number"],
        actor=row["actor"],
        note=row["note"],
        admission=Admission(row["admission"]),
        task_id=row["task_id"],
        decision=row["decision"],
        decided_at=optional_moment(row["decided_at"]),
    )


def event_from(row: sqlite3.Row) -> TaskEvent:
    """Return a row of `task_events` as a move or a note."""
    return TaskEvent(
        task_id=row["task_id"],
        at=moment_of(row["at"]),
        trigger=Note(row["trigger"]) if row["trigger"] in set(Note) else Trigger(row["trigger"]),
        came_from=State(row["from_state"]) if row["from_state"] else None,
        went_to=State(row["to_state"]),
        generation=row["generation"],
        reason=Reason(row["reason"]) if row["reason"] else None,
        detail=row["detail"],
    )
