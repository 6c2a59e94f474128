"""Publications: what is to be put on the forge, written first, and what came of it."""

from __future__ import annotations

from domain.errors import StaleWrite
from domain.model import Attempt, Publication, Pull, Task
from domain.ports import Clock, Intent
from store.database import Database
from store.rows import publication_from, storable, time_text

# A finished publication answers for its tree only as long as its commit is still the branch's head.
_SAME_INTENT = """
    SELECT publications.* FROM publications JOIN tasks ON tasks.id = task_id
    WHERE task_id = :task_id AND tree = :tree AND kind = :kind AND branch = :branch
        AND (done_at IS NULL OR commit_sha = wip_sha)
    ORDER BY publications.id DESC
    LIMIT 1
"""

# Its commit can only be on the forge if its branch is where it was then, or at that very commit.
_HOLDS = "expected_sha = :expected_sha OR commit_sha IN (:expected_sha, :commit_sha)"

_RENEW = f"""
    UPDATE publications
    SET attempt_id = :attempt_id, commit_sha = :commit_sha, expected_sha = :expected_sha, title = :title,
        body = :body, base_branch = :base_branch
    WHERE id = :id AND done_at IS NULL AND NOT ({_HOLDS})
    RETURNING *
"""

_INSERT = """
    INSERT INTO publications
        (task_id, attempt_id, kind, branch, commit_sha, tree, expected_sha, title, body, base_branch,
        created_at)
    VALUES
        (:task_id, :attempt_id, :kind, :branch, :commit_sha, :tree, :expected_sha, :title, :body,
        :base_branch, :now)
    RETURNING *
"""


class PublicationRecords:
    """The part of the task queue that keeps publications."""

    _database: Database
    _clock: Clock

    def intend(
        self,
        task: Task,
        attempt: Attempt,
        intent: Intent,
    ) -> Publication:
        """Write the intent, once per (task, tree, kind) and branch. Raises StaleWrite if the task moved on.

        The one already there is returned as it was written, with its own commit: that is the one that a
        push before a crash may have put on the forge. One that cannot have got there, because its branch has
        moved on since, is written anew.
        """
        values = {
            "task_id": task.id,
            "attempt_id": attempt.id,
            "kind": intent.kind,
            "branch": intent.branch,
            "commit_sha": intent.commit_sha,
            "tree": intent.tree,
            "expected_sha": intent.expected_sha,
            "title": storable(intent.title),
            "body": storable(intent.body),
            "base_branch": storable(intent.base_branch),
            "now": time_text(self._clock.now()),
        }
        with self._database.write() as connection:
            held = connection.execute(
                "SELECT 1 FROM tasks WHERE id = ? AND state = ? AND generation = ?",
                (task.id, task.state, task.generation),
            ).fetchone()
            if held is None:
                raise StaleWrite(
                    f"task {task.id} is no longer {task.state} under generation {task.generation}"
                )
            row = connection.execute(_SAME_INTENT, values).fetchone()
            if row is None:
                row = connection.execute(_INSERT, values).fetchone()
            else:
                row = connection.execute(_RENEW, values | {"id": row["id"]}).fetchone() or row
        return publication_from(row)

    def published(self, publication: Publication, *, pull: Pull | None) -> Publication:
        """Fill in the remote facts, and remember the commit as the task's branch head.

        Not fenced: what is on the forge is a fact, whatever became of the task. A second time only renews
        the pull request's number and address. Raises KeyError.
        """
        with self._database.write() as connection:
            first_time = connection.execute(
                "UPDATE publications SET done_at = ? WHERE id = ? AND done_at IS NULL",
                (time_text(self._clock.now()), publication.id),
            ).rowcount
            if first_time:
                connection.execute(
                    "UPDATE tasks SET wip_sha = ?, wip_branch = ? WHERE id = ?",
                    (publication.commit_sha, publication.branch, publication.task_id),
                )
            if pull is not None:
                connection.execute(
                    "UPDATE publications SET pull_number = ?, url = ? WHERE id = ?",
                    (pull.number, pull.url, publication.id),
                )
            row = connection.execute("SELECT * FROM publications WHERE id = ?", (publication.id,)).fetchone()
        if row is None:
            raise KeyError(f"there is no publication {publication.id}")
        return publication_from(row)

    def unfinished_publications(self, task_id: int) -> list[Publication]:
        """Return intents without remote facts, oldest first."""
        return [each for each in self.publications(task_id) if each.done_at is None]

    def publications(self, task_id: int) -> list[Publication]:
        """Return all of a task's publications, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM publications WHERE task_id = ? ORDER BY id", (task_id,)
            ).fetchall()
        return [publication_from(row) for row in rows]
