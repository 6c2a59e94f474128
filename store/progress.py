"""How far tasks are, read in small bites: what came after a place that a reader has reached."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from domain.model import Attempt, Phase
from domain.states import State
from store.database import Database
from store.history import TaskEvent, event_from
from store.rows import attempt_from, phase_from

_MARKS = """
    SELECT tasks.id AS task_id,
        (SELECT max(id) FROM task_events WHERE task_id = tasks.id) AS last_event,
        (SELECT max(id) FROM attempts WHERE task_id = tasks.id) AS last_attempt,
        (SELECT max(phases.id) FROM attempts JOIN phases ON attempt_id = attempts.id
            WHERE task_id = tasks.id) AS last_phase
    FROM json_each(?) AS wanted CROSS JOIN tasks
    WHERE tasks.id = wanted.value
"""

_PHASES = """
    SELECT phases.*, attempts.number AS attempt_number
    FROM attempts JOIN phases ON attempt_id = attempts.id
    WHERE task_id = ? AND phases.id > ?
    ORDER BY phases.id
    LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a task is, as ids of its newest rows; 0 for none. Another mark means news."""

    last_event: int
    last_attempt: int
    last_phase: int


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    """A move or a note of a task, with its place in the order of all."""

    id: int
    event: TaskEvent


@dataclass(frozen=True, slots=True)
class NumberedPhase:
    """A phase, with its place in the order of all, and the number of its attempt in the task."""

    id: int
    attempt: int
    phase: Phase


class Progress:
    """Reads on from where a reader was. Every call is short, and raises StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def marks(self, task_ids: Iterable[int]) -> dict[int, Mark]:
        """Return how far each of these tasks is; what is no task is left out."""
        with self._database.read() as connection:
            rows = connection.execute(_MARKS, (json.dumps(sorted(task_ids)),)).fetchall()
        return {
            row["task_id"]: Mark(row["last_event"] or 0, row["last_attempt"] or 0, row["last_phase"] or 0)
            for row in rows
        }

    def state(self, task_id: int) -> State:
        """Return where a task stands. Raises KeyError."""
        with self._database.read() as connection:
            row = connection.execute("SELECT state FROM tasks WHERE id = ?", (task_id,)).fetchone()
        if row is None:
            raise KeyError(f"there is no task {task_id}")
        return State(row["state"])

    def events(self, task_id: int, after: int, limit: int) -> list[NumberedEvent]:
        """Return at most `limit` moves of a task that came after the one with this id, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM task_events WHERE task_id = ? AND id > ? ORDER BY id LIMIT ?",
                (task_id, after, limit),
            ).fetchall()
        return [NumberedEvent(row["id"], event_from(row)) for row in rows]

    def phases(self, task_id: int, after: int, limit: int) -> list[NumberedPhase]:
        """Return at most `limit` phases of a task that came after the one with this id, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(_PHASES, (task_id, after, limit)).fetchall()
        return [NumberedPhase(row["id"], row["attempt_number"], phase_from(row)) for row in rows]

    def attempts(self, task_id: int, since: int) -> list[Attempt]:
        """Return the attempts of a task from the one with this id on, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM attempts WHERE task_id = ? AND id >= ? ORDER BY id", (task_id, since)
            ).fetchall()
        return [attempt_from(row) for row in rows]
