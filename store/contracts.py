"""Labels of repositories' own, and what became of our pull requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from domain.model import Actor, Category, Task
from domain.ports import Clock
from domain.ports.contracts import OutcomeKind, PullCount, PullOutcome
from store.database import Database
from store.rows import moment_of, storable, time_text

_LABELS = "SELECT label, category FROM repository_labels WHERE forge = ? AND repository_id = ?"

_COUNT = """
    SELECT count(*) FILTER (WHERE state IN ('in_review', 'watching')) AS open,
        count(*) FILTER (WHERE first_up >= :since) AS new
    FROM (
        SELECT tasks.id, state, min(done_at) AS first_up
        FROM tasks JOIN publications ON publications.task_id = tasks.id
        WHERE forge = :forge AND repository_id = :repository AND tasks.id <> :task
            AND publications.kind = 'pull' AND done_at IS NOT NULL
        GROUP BY tasks.id
    )
"""

_OUTCOMES = """
    SELECT pull_outcomes.*, repository_name FROM pull_outcomes JOIN tasks ON tasks.id = task_id
    WHERE at >= ? ORDER BY pull_outcomes.id
"""

_ADD = """
    INSERT INTO pull_outcomes (task_id, pull_number, kind, source, actor_id, actor_login, at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""


class SqliteContracts:
    """Implements `domain.ports.contracts.RepositoryLabels` and `PullBook` on a migrated database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def labels_of(self, forge: str, repository_id: str) -> Mapping[str, Category]:
        """Return a repository's labels in lower case, with whose rules each follows."""
        with self._database.read() as connection:
            rows = connection.execute(_LABELS, (forge, repository_id)).fetchall()
        return {row["label"]: Category(row["category"]) for row in rows}

    def keep_labels(self, forge: str, repository_id: str, labels: Mapping[str, Category]) -> None:
        """Replace what is known of a repository's labels; nothing is written where they are the same."""
        wanted = {storable(label.strip().lower()): category for label, category in labels.items()}
        if dict(self.labels_of(forge, repository_id)) == wanted:
            return
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM repository_labels WHERE forge = ? AND repository_id = ?", (forge, repository_id)
            )
            connection.executemany(
                "INSERT INTO repository_labels VALUES (?, ?, ?, ?)",
                [(forge, repository_id, label, category) for label, category in wanted.items()],
            )

    def pull_count(self, task: Task, since: datetime) -> PullCount:
        """Count the pull requests of a task's repository but its own."""
        values = {
            "forge": task.issue.forge,
            "repository": task.issue.repository_id,
            "task": task.id,
            "since": time_text(since),
        }
        with self._database.read() as connection:
            row = connection.execute(_COUNT, values).fetchone()
        return PullCount(row["open"], row["new"])

    def outcomes(self, since: datetime | None = None) -> list[PullOutcome]:
        """Return outcomes, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(_OUTCOMES, (time_text(since) if since else "",)).fetchall()
        return [
            PullOutcome(
                task_id=row["task_id"],
                repository_name=row["repository_name"],
                pull_number=row["pull_number"],
                kind=OutcomeKind(row["kind"]),
                by=Actor(id=row["actor_id"], login=row["actor_login"]),
                at=moment_of(row["at"]),
            )
            for row in rows
        ]

    def expire(self, task: Task, pull_number: int, by: Actor) -> bool:
        """Write down that a draft was left alone for too long; False where that was before."""
        now = time_text(self._clock.now())
        values = (task.id, pull_number, OutcomeKind.EXPIRED, "", by.id, storable(by.login), now)
        with self._database.write() as connection:
            return bool(connection.execute(_ADD, values).rowcount)
