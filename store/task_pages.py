"""Tasks in pages, newest first, for lists that never hold all of them."""

from __future__ import annotations

from dataclasses import dataclass

from domain.model import Task
from domain.states import State
from store.database import Database
from store.rows import task_from

_PAGE = """
    SELECT * FROM tasks
    WHERE id < :before
        AND (:state IS NULL OR state = :state)
        AND (:repository IS NULL
            OR lower(repository_name) = :repository OR lower(forge || ':' || repository_name) = :repository)
        AND (:requester IS NULL OR requester_id = :requester)
    ORDER BY id DESC
    LIMIT :limit
"""

_NEWEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tasks: before an id, in a state, of a repository (owner/name or forge:owner/name), asked by whom.

    What is None or "" is not asked for.
    """

    before: int | None = None
    state: State | None = None
    repository: str = ""
    requester_id: str = ""


class TaskPages:
    """Reads pages of tasks."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def page(self, wanted: Wanted, limit: int) -> list[Task]:
        """Return at most `limit` tasks, newest first. Raises StoreUnavailable."""
        values = {
            "before": _NEWEST if wanted.before is None else wanted.before,
            "state": wanted.state,
            "repository": wanted.repository.lower() or None,
            "requester": wanted.requester_id or None,
            "limit": limit,
        }
        with self._database.read() as connection:
            rows = connection.execute(_PAGE, values).fetchall()
        return [task_from(row) for row in rows]

    def of_issue(self, forge: str, repository: str, number: int) -> Task | None:
        """Return an issue's newest task by its repository's name as last known. Raises StoreUnavailable."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM tasks WHERE forge = ? AND lower(repository_name) = ? AND issue_number = ?"
                " ORDER BY id DESC LIMIT 1",
                (forge, repository.lower(), number),
            ).fetchone()
        return None if row is None else task_from(row)
