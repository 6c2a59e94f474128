"""Wishes of reviewers, from hearing to answer, and the threads that attempts were told of."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from domain.model import Actor, Attempt
from domain.ports import Clock
from domain.ports.reviewing import ReviewWish, ToldThread, Touch
from store.database import Database
from store.rows import moment_of, storable, time_text

_HEAR = """
    INSERT INTO review_wishes
        (task_id, pull_number, source, reviewer_id, reviewer_login, wants_changes, said, heard_at)
    VALUES (:task, :pull, :source, :reviewer, :login, :wants, :said, :now)
    ON CONFLICT (task_id, source) DO UPDATE
    SET wants_changes = max(wants_changes, excluded.wants_changes),
        said = iif(said = '', excluded.said, said)
"""

_TELL = """
    UPDATE review_wishes SET attempt_id = :attempt
    WHERE task_id = :task AND answered_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM attempts WHERE id = :attempt AND steps > 0)
"""

_KEEP = """
    INSERT INTO told_threads (attempt_id, thread, path, line) VALUES (?, ?, ?, ?)
    ON CONFLICT (attempt_id, thread) DO NOTHING
"""


class SqliteReviews:
    """Implements `domain.ports.reviewing.ReviewLog` on a migrated database."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def hear(self, wish: ReviewWish) -> None:
        """Write a wish down, once per source; what its later deliveries add is added."""
        values = {
            "task": wish.task_id,
            "pull": wish.pull_number,
            "source": storable(wish.source),
            "reviewer": wish.reviewer.id,
            "login": storable(wish.reviewer.login),
            "wants": wish.wants_changes,
            "said": storable(wish.said),
            "now": time_text(self._clock.now()),
        }
        with self._database.write() as connection:
            connection.execute(_HEAR, values)

    def untold(self) -> tuple[ReviewWish, ...]:
        """Return what no attempt was told of yet, oldest first."""
        return self._wishes("answered_at IS NULL AND attempt_id IS NULL")

    def tell(self, attempt: Attempt) -> tuple[ReviewWish, ...]:
        """Return what an attempt is told of; one that has made steps hears of nothing new."""
        with self._database.write() as connection:
            connection.execute(_TELL, {"attempt": attempt.id, "task": attempt.task_id})
        return self._wishes("answered_at IS NULL AND attempt_id = ?", attempt.id)

    def unanswered(self, task_id: int) -> tuple[ReviewWish, ...]:
        """Return what an attempt was told of and nobody was answered about, oldest first."""
        return self._wishes("answered_at IS NULL AND attempt_id IS NOT NULL AND task_id = ?", task_id)

    def answered(self, wishes: Sequence[ReviewWish]) -> None:
        """Write down that the reviewers were answered, or that nothing was left to be done."""
        now = time_text(self._clock.now())
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE review_wishes SET answered_at = ?"
                " WHERE task_id = ? AND source = ? AND answered_at IS NULL",
                [(now, wish.task_id, storable(wish.source)) for wish in wishes],
            )

    def keep_threads(self, attempt: Attempt, threads: Sequence[ToldThread]) -> None:
        """Write down of which threads an attempt is told; those that are known stay as they are."""
        rows = [(attempt.id, storable(each.id), storable(each.path), each.line) for each in threads]
        with self._database.write() as connection:
            connection.executemany(_KEEP, rows)

    def threads_of(self, attempt_id: int) -> tuple[ToldThread, ...]:
        """Return the threads that an attempt was told of, in the order of the pull request."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT * FROM told_threads WHERE attempt_id = ? ORDER BY id", (attempt_id,)
            ).fetchall()
        return tuple(
            ToldThread(
                id=row["thread"],
                path=row["path"],
                line=row["line"],
                touch=Touch(row["touch"]) if row["touch"] else None,
            )
            for row in found
        )

    def touched(self, attempt: Attempt, thread: ToldThread, touch: Touch) -> None:
        """Write down what the attempt's push did to a thread's place."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE told_threads SET touch = ? WHERE attempt_id = ? AND thread = ?",
                (touch, attempt.id, storable(thread.id)),
            )

    def _wishes(self, where: str, *values: object) -> tuple[ReviewWish, ...]:
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT * FROM review_wishes WHERE {where} ORDER BY id", values
            ).fetchall()
        return tuple(map(_wish, found))


def _wish(row: sqlite3.Row) -> ReviewWish:
    return ReviewWish(
        task_id=row["task_id"],
        pull_number=row["pull_number"],
        source=row["source"],
        reviewer=Actor(id=row["reviewer_id"], login=row["reviewer_login"]),
        wants_changes=bool(row["wants_changes"]),
        said=row["said"],
        heard_at=moment_of(row["heard_at"]),
        attempt_id=row["attempt_id"],
    )
