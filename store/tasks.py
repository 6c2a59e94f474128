"""The task queue: claims under a lease, and moves as compare-and-set with a history."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta

from domain.errors import IllegalTransition, StaleWrite
from domain.events import CommandGiven, IssueLabelled
from domain.model import Category, IssueRef, Outcome, Task
from domain.ports import Clock, Landing, TaskQueue
from domain.states import State, Trigger, after
from store.allowances import AllowanceRecords
from store.attempts import AttemptRecords
from store.database import Database
from store.own_labels import own_category
from store.places import PlaceRecords
from store.publications import PublicationRecords
from store.rows import moment_of, storable, task_from, time_text
from store.signals import SignalRecords

_FRESH_STARTS = frozenset({Trigger.RESUMED, Trigger.RELABELLED})
_LEFT_OPEN_ENDS_AS = {
    Trigger.RESUMED: Outcome.INTERRUPTED,
    Trigger.RELABELLED: Outcome.INTERRUPTED,
    Trigger.CANCELLED: Outcome.CANCELLED,
    Trigger.MERGED: Outcome.CANCELLED,
}
_KEEPING_REASON = frozenset({State.BLOCKED, State.CANCELLED})

_CLAIM = """
    UPDATE tasks
    SET state = 'running', generation = generation + 1, reason = NULL, detail = '', not_before = '',
        worker_name = :name, worker_life = :life, lease_until = :lease_until, updated_at = :now
    WHERE id = (
        SELECT id FROM tasks
        WHERE state = 'queued' AND not_before <= :now
        ORDER BY not_before, id
        LIMIT 1
    )
    RETURNING *
"""

_MOVE = """
    UPDATE tasks
    SET state = :to_state, reason = :reason, detail = :detail, not_before = :not_before,
        attempts = iif(:fresh, 0, attempts),
        recoveries = iif(:fresh, 0, coalesce(:recoveries, recoveries)),
        worker_name = NULL, worker_life = NULL, lease_until = NULL, updated_at = :now,
        word_at = max(word_at, :word_at)
    WHERE id = :id AND state = :from_state AND generation = :generation
    RETURNING *
"""

_ASKED_ANEW = """
    UPDATE tasks
    SET requester_id = :actor_id, requester_login = :login, requester_is_bot = :bot,
        title = coalesce(:title, title), body = coalesce(:body, body),
        category = coalesce(:category, category), label = coalesce(:label, label),
        by_command = :by_command
    WHERE id = :id
    RETURNING *
"""

_ORPHANS = """
    SELECT * FROM tasks
    WHERE state = 'running' AND (lease_until <= :now OR (worker_name = :name AND worker_life <> :life))
    ORDER BY id
"""


class SqliteTaskQueue(
    AllowanceRecords, AttemptRecords, PlaceRecords, PublicationRecords, SignalRecords, TaskQueue
):
    """`domain.ports.TaskQueue` on a database. Attempts, publications and signals are in their own files.

    A worker's name is "NAME/LIFE": NAME is the same over restarts, LIFE is not. Without a slash there is no
    life, and only an expired lease makes an orphan.
    """

    def __init__(
        self, database: Database, clock: Clock, categories: Mapping[str, Category] | None = None
    ) -> None:
        """Take a migrated database. `categories` maps labels to categories; by default each to itself."""
        self._categories = dict(categories or {category.value: category for category in Category})
        self._database = database
        self._clock = clock

    def claim(self, worker: str, lease_seconds: float) -> Task | None:
        """Take the oldest due QUEUED task to RUNNING under a new generation, or return None."""
        now = self._clock.now()
        if not self._has_due(now):
            return None
        name, _, life = worker.partition("/")
        values = {
            "name": name,
            "life": life,
            "lease_until": time_text(now + timedelta(seconds=lease_seconds)),
            "now": time_text(now),
        }
        with self._database.write() as connection:
            row = connection.execute(_CLAIM, values).fetchone()
            if row is None:
                return None
            task = task_from(row)
            _record(connection, task, Trigger.CLAIMED, State.QUEUED)
        return task

    def heartbeat(self, task: Task, lease_seconds: float) -> None:
        """Extend the lease. Raises StaleWrite when the task is no longer ours."""
        lease_until = time_text(self._clock.now() + timedelta(seconds=lease_seconds))
        with self._database.write() as connection:
            changed = connection.execute(
                "UPDATE tasks SET lease_until = ? WHERE id = ? AND state = 'running' AND generation = ?",
                (lease_until, task.id, task.generation),
            ).rowcount
            if not changed:
                raise StaleWrite(f"task {task.id} is no longer held under generation {task.generation}")

    def move(
        self,
        task: Task,
        trigger: Trigger,
        landing: Landing = Landing(),  # noqa: B008 - frozen, and empty
    ) -> Task:
        """Apply a trigger if state and generation are still those of `task`; clears the lease.

        Reason and detail not given stay as they are on the way to BLOCKED or CANCELLED, and are cleared
        on every other. RESUMED and RELABELLED also close an attempt that was left open, as INTERRUPTED,
        unless the task `goes_on`; CANCELLED and MERGED as CANCELLED. `not_before` has a meaning on the way
        to QUEUED only.
        """
        if trigger is Trigger.CLAIMED:
            raise IllegalTransition("a task is claimed by `claim` only")
        target = after(task.state, trigger)
        reason, detail, not_before = landing.reason, landing.detail, landing.not_before
        if reason is None and not detail and target in _KEEPING_REASON:
            reason, detail = task.reason, task.detail
        values = {
            "id": task.id,
            "from_state": task.state,
            "to_state": target,
            "generation": task.generation,
            "reason": reason,
            "detail": storable(detail),
            "not_before": time_text(not_before) if not_before and target is State.QUEUED else "",
            "fresh": trigger in _FRESH_STARTS and not landing.goes_on,
            "word_at": time_text(landing.word_at) if landing.word_at else "",
            "recoveries": landing.recoveries,
            "now": time_text(self._clock.now()),
        }
        with self._database.write() as connection:
            row = connection.execute(_MOVE, values).fetchone()
            if row is None:
                raise StaleWrite(
                    f"task {task.id} is no longer {task.state} under generation {task.generation}"
                )
            if landing.asked is not None:
                row = self._asked_anew(connection, task.id, landing.asked)
            moved = self._with_attempts_ended(connection, task_from(row), trigger, landing)
            _record(connection, moved, trigger, task.state)
        return moved

    def _with_attempts_ended(
        self,
        connection: sqlite3.Connection,
        moved: Task,
        trigger: Trigger,
        landing: Landing,
    ) -> Task:
        """Close the attempt that ends with this move, and one that must not stay open after it."""
        if landing.ending is not None:
            self._end(connection, *landing.ending)
        if trigger in _LEFT_OPEN_ENDS_AS and not landing.goes_on:
            self._close_open_attempt(connection, moved.id, _LEFT_OPEN_ENDS_AS[trigger])
        row = connection.execute("SELECT * FROM tasks WHERE id = ?", (moved.id,)).fetchone()
        return task_from(row)

    def _asked_anew(
        self, connection: sqlite3.Connection, task_id: int, asked: IssueLabelled | CommandGiven
    ) -> sqlite3.Row:
        """Put whoever asked in the place of the earlier requester; both bring the issue as it stood then."""
        values = {
            "id": task_id,
            "actor_id": asked.actor.id,
            "login": storable(asked.actor.login),
            "bot": asked.actor.is_bot,
            "title": None,
            "body": None,
            "category": None,
            "label": None,
            "by_command": isinstance(asked, CommandGiven),
        }
        if asked.title is not None and asked.body is not None:
            values |= {"title": storable(asked.title), "body": storable(asked.body)}
        if isinstance(asked, IssueLabelled):
            category = own_category(connection, asked) or self._categories.get(asked.label.strip().lower())
            values |= {"category": category, "label": storable(asked.label) if category else None}
        row: sqlite3.Row = connection.execute(_ASKED_ANEW, values).fetchone()
        return row

    def heed(self, task_id: int, word_at: datetime) -> None:
        """Remember a word that moved nothing, since what it asks for is under way already."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE tasks SET word_at = max(word_at, ?) WHERE id = ?", (time_text(word_at), task_id)
            )

    def task(self, task_id: int) -> Task:
        """Return a task. Raises KeyError."""
        with self._database.read() as connection:
            row = connection.execute("SELECT * FROM tasks WHERE id = ?", (task_id,)).fetchone()
        if row is None:
            raise KeyError(f"there is no task {task_id}")
        return task_from(row)

    def tasks(self, limit: int | None = None) -> list[Task]:
        """Return all tasks, newest first, or only the `limit` newest."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM tasks ORDER BY id DESC LIMIT ?", (-1 if limit is None else limit,)
            ).fetchall()
        return [task_from(row) for row in rows]

    def task_of_issue(self, issue: IssueRef) -> Task | None:
        """Return the task of an issue, or None."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT * FROM tasks WHERE forge = ? AND repository_id = ? AND issue_number = ?",
                (issue.forge, issue.repository_id, issue.number),
            ).fetchone()
        return task_from(row) if row else None

    def live_tasks(self, after_id: int, limit: int) -> list[Task]:
        """Return at most `limit` tasks that are neither CANCELLED nor DONE, by id, from after `after_id`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM tasks WHERE id > ? AND state NOT IN ('cancelled', 'done') ORDER BY id LIMIT ?",
                (after_id, limit),
            ).fetchall()
        return [task_from(row) for row in rows]

    def asked_at(self, task_id: int) -> datetime:
        """Return when a person last asked for the task: admitted, relabelled or resumed. Raises KeyError."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT max(at) AS at FROM task_events"
                " WHERE task_id = ? AND trigger IN ('admitted', 'relabelled', 'resumed')",
                (task_id,),
            ).fetchone()
        if row["at"] is None:
            raise KeyError(f"there is no task {task_id}")
        return moment_of(row["at"])

    def orphans(self, worker: str) -> list[Task]:
        """Return RUNNING tasks whose lease is over, or that an earlier life of `worker` held."""
        name, _, life = worker.partition("/")
        values = {"now": time_text(self._clock.now()), "name": name, "life": life}
        with self._database.read() as connection:
            rows = connection.execute(_ORPHANS, values).fetchall()
        return [task_from(row) for row in rows]

    def next_due(self) -> datetime | None:
        """Return when the next QUEUED task becomes due (now for one that is), or None if there is none."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT not_before FROM tasks WHERE state = 'queued' ORDER BY not_before, id LIMIT 1"
            ).fetchone()
        if row is None:
            return None
        now = self._clock.now()
        return max(now, moment_of(row["not_before"])) if row["not_before"] else now

    def _has_due(self, now: datetime) -> bool:
        """Look before asking for the write lock, so that an idle worker never stands in the door's way."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM tasks WHERE state = 'queued' AND not_before <= ? LIMIT 1", (time_text(now),)
            ).fetchone()
        return row is not None


def _record(connection: sqlite3.Connection, task: Task, trigger: Trigger, came_from: State) -> None:
    connection.execute(
        "INSERT INTO task_events (task_id, at, trigger, from_state, to_state, generation, reason, detail)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            task.id,
            time_text(task.updated_at),
            trigger,
            came_from,
            task.state,
            task.generation,
            task.reason,
            task.detail,
        ),
    )
