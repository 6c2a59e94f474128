"""Places and errands: the tasks of a repository, and what the worker has to look at or to say there."""

from __future__ import annotations

from domain.model import Task
from domain.ports import Admission, Clock, Errand
from store.database import Database
from store.documents import event_from
from store.rows import storable, task_from, time_text


class PlaceRecords:
    """The part of the task queue that knows repositories; the inbox writes the errands."""

    _database: Database
    _clock: Clock

    def errands(self, limit: int) -> list[Errand]:
        """Return at most `limit` errands that are still to be done, oldest first.

        What is only to be said comes last: that is done slowly, and must not hold up the rest.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, kind, event, admission FROM errands WHERE decided_at IS NULL"
                " ORDER BY admission <> 'errand', id LIMIT ?",
                (limit,),
            ).fetchall()
        return [
            Errand(
                id=row["id"],
                event=event_from(row["kind"], row["event"]),
                admission=Admission(row["admission"]),
            )
            for row in rows
        ]

    def end_errand(self, errand: Errand, decision: str) -> None:
        """Record what came of an errand; it is not returned again. The first decision stands."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE errands SET decision = ?, decided_at = ? WHERE id = ? AND decided_at IS NULL",
                (storable(decision), time_text(self._clock.now()), errand.id),
            )

    def places(self, forge: str) -> list[tuple[str, str]]:
        """Return (id, name) of each repository with a live task; its name is that of the newest task."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT repository_id, repository_name, max(id) FROM tasks"
                " WHERE forge = ? AND state NOT IN ('cancelled', 'done')"
                " GROUP BY repository_id ORDER BY repository_id",
                (forge,),
            ).fetchall()
        return [(row["repository_id"], row["repository_name"]) for row in rows]

    def tasks_at(self, forge: str, repository_id: str) -> list[Task]:
        """Return the live tasks of a repository, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM tasks WHERE forge = ? AND repository_id = ?"
                " AND state NOT IN ('cancelled', 'done') ORDER BY id",
                (forge, repository_id),
            ).fetchall()
        return [task_from(row) for row in rows]

    def waiting(self, forge: str, repository_id: str) -> int:
        """Return how many tasks of a repository are QUEUED."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM tasks WHERE state = 'queued' AND forge = ? AND repository_id = ?",
                (forge, repository_id),
            ).fetchone()
        return int(row[0])
