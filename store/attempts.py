"""Attempts and what is known of them: progress, timeline, the model's words, the harness' verdict."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from domain.claim import Claim, Restatement
from domain.errors import StaleWrite
from domain.model import Attempt, Outcome, Phase, Task, Verdict
from domain.ports import Clock
from store.database import Database
from store.documents import verdict_blob, verdict_from
from store.rows import attempt_from, billionths, phase_from, storable, time_text

UNCOUNTED = frozenset({Outcome.INTERRUPTED, Outcome.ORPHANED, Outcome.TRANSIENT, Outcome.UNJUDGED})
"""Outcomes that do not count against `max_attempts`.

For these the worker may also leave the attempt open instead of ending it: the next claim then takes it up.
"""

_FENCE = "id = :id AND generation = :generation"

_PROGRESS = f"""
    UPDATE attempts
    SET base_sha = iif(:base_sha = '', base_sha, :base_sha),
        checkpoint_sha = iif(:checkpoint_sha = '', checkpoint_sha, :checkpoint_sha),
        steps = max(steps, :steps)
    WHERE {_FENCE} AND outcome IS NULL
    RETURNING *
"""

# A cancel ends the attempt under its worker, whose last stretch is a fact all the same.
_ADD_PHASE = """
    INSERT INTO phases (attempt_id, name, started_at, seconds, cost, note)
    SELECT attempts.id, :name, :started_at, :seconds, :cost, :note
    FROM attempts JOIN tasks ON tasks.id = task_id
    WHERE attempts.id = :id AND attempts.generation = :generation AND tasks.generation = :generation
"""


class AttemptRecords:
    """The part of the task queue that keeps attempts.

    Writes are fenced by the generation under which the attempt was begun or taken up: a worker that has
    lost its task cannot touch the attempt of its successor; it gets StaleWrite.
    """

    _database: Database
    _clock: Clock

    def begin_attempt(self, task: Task) -> Attempt:
        """Open the next attempt, or return the open one that a crash left. Raises StaleWrite."""
        with self._database.write() as connection:
            held = connection.execute(
                "SELECT 1 FROM tasks WHERE id = ? AND state = 'running' AND generation = ?",
                (task.id, task.generation),
            ).fetchone()
            if held is None:
                raise StaleWrite(f"task {task.id} is no longer held under generation {task.generation}")
            row = connection.execute(
                "UPDATE attempts SET generation = ? WHERE task_id = ? AND outcome IS NULL RETURNING *",
                (task.generation, task.id),
            ).fetchone()
            if row is None:
                row = connection.execute(
                    "INSERT INTO attempts (task_id, number, generation, started_at)"
                    " SELECT :task, coalesce(max(number), 0) + 1, :generation, :now"
                    " FROM attempts WHERE task_id = :task RETURNING *",
                    {"task": task.id, "generation": task.generation, "now": time_text(self._clock.now())},
                ).fetchone()
        return attempt_from(row)

    def note_progress(
        self, attempt: Attempt, *, base_sha: str = "", checkpoint_sha: str = "", steps: int = 0
    ) -> Attempt:
        """Record how far an attempt is; what is not given stays, and steps never go back.

        Raises StaleWrite when the attempt is closed or somebody else's.
        """
        values = {"base_sha": base_sha, "checkpoint_sha": checkpoint_sha, "steps": steps}
        with self._database.write() as connection:
            row = connection.execute(_PROGRESS, values | _fence_of(attempt)).fetchone()
            if row is None:
                raise _stale(attempt)
        return attempt_from(row)

    def end_attempt(self, attempt: Attempt, outcome: Outcome) -> Attempt:
        """Close an attempt; it counts against `max_attempts` unless its outcome is in `UNCOUNTED`.

        Closing it again with the same outcome is a no-op. Raises StaleWrite when it is closed with another
        outcome or somebody else's.
        """
        with self._database.write() as connection:
            return self._end(connection, attempt, outcome)

    def _end(self, connection: sqlite3.Connection, attempt: Attempt, outcome: Outcome) -> Attempt:
        """Close an attempt within a transaction. Raises StaleWrite."""
        row = connection.execute(
            f"UPDATE attempts SET outcome = :outcome, ended_at = :now WHERE {_FENCE} AND outcome IS NULL"
            " RETURNING *",
            {"outcome": outcome, "now": time_text(self._clock.now())} | _fence_of(attempt),
        ).fetchone()
        if row is None:
            return _closed_before(connection, attempt, outcome)
        if outcome not in UNCOUNTED:
            connection.execute("UPDATE tasks SET attempts = attempts + 1 WHERE id = ?", (attempt.task_id,))
        return attempt_from(row)

    def attempt(self, attempt_id: int) -> Attempt:
        """Return an attempt. Raises KeyError."""
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM attempts WHERE id = ?", (attempt_id,)).fetchone()
        if row is None:
            raise KeyError(f"there is no attempt {attempt_id}")
        return attempt_from(row)

    def attempts(self, task_id: int) -> list[Attempt]:
        """Return a task's attempts, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM attempts WHERE task_id = ? ORDER BY number", (task_id,)
            ).fetchall()
        return [attempt_from(row) for row in rows]

    def add_phase(self, attempt: Attempt, phase: Phase) -> None:
        """Append a stretch to the timeline, of an attempt that was ended under it as well.

        Raises StaleWrite when the attempt was taken up by another, or its task was claimed anew.
        """
        values: dict[str, str | int | float] = {
            "name": storable(phase.name),
            "started_at": time_text(phase.started_at),
            "seconds": phase.seconds,
            "cost": billionths(phase.cost),
            "note": storable(phase.note),
        }
        with self._database.write() as connection:
            if not connection.execute(_ADD_PHASE, values | _fence_of(attempt)).rowcount:
                raise _stale(attempt)

    def phases(self, task_id: int) -> list[tuple[int, Phase]]:
        """Return (attempt number, phase) for the whole task, in order."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT attempts.number, phases.* FROM attempts JOIN phases ON attempt_id = attempts.id"
                " WHERE task_id = ? ORDER BY phases.id",
                (task_id,),
            ).fetchall()
        return [(row["number"], phase_from(row)) for row in rows]

    def save_report(self, attempt: Attempt, *, restatement: Restatement | None, claim: Claim | None) -> None:
        """Store the model's words, apart from any verdict; None leaves what is there. Raises StaleWrite."""
        values = {
            "restatement": restatement.model_dump_json() if restatement else None,
            "claim": claim.model_dump_json() if claim else None,
        }
        self._update(
            attempt,
            "restatement = coalesce(:restatement, restatement), claim = coalesce(:claim, claim)",
            values,
        )

    def report(self, attempt: Attempt) -> tuple[Restatement | None, Claim | None]:
        """Return the model's words of an attempt. Raises KeyError."""
        row = self._attempt_row(attempt, "restatement, claim")
        restatement, claim = row["restatement"], row["claim"]
        return (
            Restatement.model_validate_json(restatement) if restatement else None,
            Claim.model_validate_json(claim) if claim else None,
        )

    def save_verdict(self, attempt: Attempt, verdict: Verdict) -> None:
        """Store what the harness saw; a later verdict of the same attempt replaces it. Raises StaleWrite."""
        self._update(attempt, "verdict = :verdict", {"verdict": verdict_blob(verdict)})

    def verdict(self, attempt: Attempt) -> Verdict | None:
        """Return the verdict of an attempt, or None. Raises KeyError."""
        blob = self._attempt_row(attempt, "verdict")["verdict"]
        return verdict_from(blob) if blob is not None else None

    def _close_open_attempt(self, connection: sqlite3.Connection, task_id: int, outcome: Outcome) -> None:
        connection.execute(
            "UPDATE attempts SET outcome = ?, ended_at = ? WHERE task_id = ? AND outcome IS NULL",
            (outcome, time_text(self._clock.now()), task_id),
        )

    def _update(self, attempt: Attempt, assignment: str, values: Mapping[str, str | bytes | None]) -> None:
        with self._database.write() as connection:
            changed = connection.execute(
                f"UPDATE attempts SET {assignment} WHERE {_FENCE} AND outcome IS NULL",
                {**values, **_fence_of(attempt)},
            ).rowcount
            if not changed:
                raise _stale(attempt)

    def _attempt_row(self, attempt: Attempt, columns: str) -> sqlite3.Row:
        with self._database.read() as connection:
            row: sqlite3.Row | None = connection.execute(
                f"SELECT {columns} FROM attempts WHERE id = ?", (attempt.id,)
            ).fetchone()
        if row is None:
            raise KeyError(f"there is no attempt {attempt.id}")
        return row


def _fence_of(attempt: Attempt) -> dict[str, int]:
    return {"id": attempt.id, "generation": attempt.generation}


def _stale(attempt: Attempt) -> StaleWrite:
    return StaleWrite(f"attempt {attempt.number} of task {attempt.task_id} is closed, or taken up by another")


def _closed_before(connection: sqlite3.Connection, attempt: Attempt, outcome: Outcome) -> Attempt:
    row = connection.execute(
        f"SELECT * FROM attempts WHERE {_FENCE} AND outcome = :outcome",
        {"outcome": outcome} | _fence_of(attempt),
    ).fetchone()
    if row is None:
        raise _stale(attempt)
    return attempt_from(row)
