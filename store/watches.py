"""Watches over published commits: one per commit of a task, ended once."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from domain.model import Task
from domain.ports import CiEnd, Clock, Watch
from store.database import Database
from store.rows import moment_of, optional_moment, storable, time_text

_BEGIN = """
    INSERT INTO watches (task_id, sha, pull_number, since) VALUES (?, ?, ?, ?)
    ON CONFLICT (task_id, sha) DO NOTHING
"""

_END = """
    UPDATE watches SET ending = :ending, error = :error, evidence = :evidence, said = :said, ended_at = :now
    WHERE id = :id AND ending IS NULL
"""


class SqliteWatches:
    """Implements `domain.ports.WatchLog`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, task: Task, sha: str, pull_number: int, since: datetime) -> Watch:
        """Watch a commit that was pushed at a time, or return its watch. Raises StoreUnavailable."""
        with self._database.write() as connection:
            connection.execute(_BEGIN, (task.id, sha, pull_number, time_text(since)))
            return _one(connection, "task_id = ? AND sha = ?", task.id, sha)

    def count_rerun(self, watch: Watch) -> Watch:
        """Write down, before it is asked for, that jobs of the commit are run again."""
        with self._database.write() as connection:
            connection.execute("UPDATE watches SET reruns = reruns + 1 WHERE id = ?", (watch.id,))
            return _one(connection, "id = ?", watch.id)

    def end(self, watch: Watch, ending: CiEnd, *, said: str, error: str = "", evidence: str = "") -> Watch:
        """End a watch; one that has ended stays as it is."""
        values = {
            "id": watch.id,
            "ending": ending,
            "error": error,
            "evidence": storable(evidence),
            "said": storable(said),
            "now": time_text(self._clock.now()),
        }
        with self._database.write() as connection:
            connection.execute(_END, values)
            return _one(connection, "id = ?", watch.id)

    def of_task(self, task_id: int) -> tuple[Watch, ...]:
        """Return a task's watches, oldest first."""
        with self._database.read() as connection:
            found = connection.execute("SELECT * FROM watches WHERE task_id = ? ORDER BY id", (task_id,))
            return tuple(map(_watch, found.fetchall()))


def _one(connection: sqlite3.Connection, where: str, *values: object) -> Watch:
    return _watch(connection.execute(f"SELECT * FROM watches WHERE {where}", values).fetchone())


def _watch(row: sqlite3.Row) -> Watch:
    return Watch(
        id=row["id"],
        task_id=row["task_id"],
        sha=row["sha"],
        pull_number=row["pull_number"],
        since=moment_of(row["since"]),
        reruns=row["reruns"],
        end=CiEnd(row["ending"]) if row["ending"] else None,
        error=row["error"],
        evidence=row["evidence"],
        said=row["said"],
        ended_at=optional_moment(row["ended_at"]),
    )
