"""What the console lists of tasks and repositories, many at a time: read only, one statement per list."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from domain.model import Money, Task
from domain.states import State
from store.database import Database
from store.rows import dollars, moment_of, task_from, time_text

Place = tuple[str, str]
"""A repository: forge, and the forge's permanent id of it."""

Scope = frozenset[Place] | None
"""The repositories that somebody may see; None: all of them."""

_SEEN = """(:scope IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:scope) AS place
        WHERE json_extract(place.value, '$[0]') = tasks.forge
            AND json_extract(place.value, '$[1]') = tasks.repository_id))"""

_CHOSEN = f"""
    FROM tasks
    WHERE {_SEEN}
        AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
        AND (:repository = '' OR lower(forge || ':' || repository_name) = :repository)
        AND (:words = '' OR instr(lower(title), :words) > 0 OR CAST(issue_number AS TEXT) = :words)
"""

# A body may be 64 KB, and a list shows none.
_COLUMNS = """
    tasks.id, forge, repository_id, issue_number, repository_name, category, requester_id, requester_login,
    requester_is_bot, state, reason, detail, attempts, recoveries, generation, not_before, wip_sha,
    wip_branch, created_at, updated_at, title, '' AS body, word_at, label, by_command
"""

_LINES = """
    SELECT page.*,
        (SELECT coalesce(sum(amount), 0) FROM ledger WHERE task_id = page.id) AS spent,
        last.id AS attempt_id, last.number AS attempt_number, last.steps AS steps,
        last.started_at AS attempt_started_at,
        (SELECT name FROM phases WHERE attempt_id = last.id ORDER BY id DESC LIMIT 1) AS phase,
        pull.pull_number AS pull_number, pull.url AS pull_url
    FROM ({page}) AS page
    LEFT JOIN attempts AS last ON last.id = (
        SELECT id FROM attempts WHERE task_id = page.id ORDER BY number DESC LIMIT 1
    )
    LEFT JOIN publications AS pull ON pull.id = (
        SELECT id FROM publications
        WHERE task_id = page.id AND pull_number IS NOT NULL ORDER BY id DESC LIMIT 1
    )
    ORDER BY {order}
"""

_ORDERS = {
    "newest": "id DESC",
    "changed": "updated_at DESC, id DESC",
    "turn": "not_before, id",
}

# One pass over the rows, which are wide: everything that the overview needs of all tasks.
_SUMMARY = f"""
    WITH seen AS MATERIALIZED (
        SELECT id, state, updated_at,
            CASE state WHEN 'watching' THEN 'in_review' WHEN 'cancelled' THEN 'done' ELSE state END AS kind
        FROM tasks WHERE {_SEEN}
    )
    SELECT 0 AS place, state AS kind, count(*) AS number FROM seen GROUP BY state
    UNION ALL
    SELECT place, kind, id AS number FROM (
        SELECT id, kind, row_number() OVER (
            PARTITION BY kind ORDER BY updated_at DESC, id DESC
        ) AS place FROM seen WHERE kind <> 'queued'
    )
    WHERE place <= :limit
    ORDER BY place
"""

_PLACES = f"""
    SELECT forge, repository_id, max(id) AS newest, count(*) AS tasks,
        count(*) FILTER (WHERE state = 'queued') AS queued,
        count(*) FILTER (WHERE state = 'running') AS running,
        count(*) FILTER (WHERE state = 'blocked') AS blocked,
        count(*) FILTER (WHERE state IN ('in_review', 'watching')) AS in_review,
        count(*) FILTER (WHERE state = 'done') AS done
    FROM tasks WHERE {_SEEN}
    GROUP BY forge, repository_id
"""

_NAMES = "SELECT id, repository_name FROM tasks WHERE id IN (SELECT value FROM json_each(?))"

_OPENED = """
    SELECT forge, repository_id, count(DISTINCT tasks.id || '/' || pull_number) AS opened
    FROM publications JOIN tasks ON tasks.id = task_id
    WHERE pull_number IS NOT NULL AND kind = 'pull'
    GROUP BY forge, repository_id
"""

_ENDED = """
    SELECT forge, repository_id,
        count(DISTINCT iif(kind = 'merged', task_id || '/' || pull_number, NULL)) AS merged,
        count(DISTINCT iif(kind = 'closed', task_id || '/' || pull_number, NULL)) AS closed
    FROM pull_outcomes JOIN tasks ON tasks.id = task_id
    GROUP BY forge, repository_id
"""

_JUDGED = """
    SELECT forge, repository_id, count(*) AS judged, count(*) FILTER (WHERE outcome = 'verified') AS verified
    FROM attempts JOIN tasks ON tasks.id = task_id
    WHERE outcome IN ('verified', 'unverified', 'refused', 'no_change', 'declined', 'repeated', 'task_limit')
    GROUP BY forge, repository_id
"""

_SPENT = "SELECT forge, repository_id, sum(amount) AS spent FROM ledger GROUP BY forge, repository_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardLine:
    """One task in a list; its `body` is left out. What belongs to its newest attempt is 0 or "" without one.

    `phase` is the newest phase that has ended, `pull` the newest pull request (number, address).
    """

    task: Task
    spent: Money
    attempt_id: int = 0
    attempt_number: int = 0
    attempt_started_at: datetime | None = None
    steps: int = 0
    phase: str = ""
    pull: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How many tasks are in each state, and ids of those that changed last.

    `newest` has kinds: IN_REVIEW with WATCHING among it, DONE with CANCELLED, and none for QUEUED, whose
    order is another.
    """

    counts: dict[State, int]
    newest: dict[State, list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which tasks a list is about. Empty fields choose all; `words` are looked for in titles and numbers."""

    states: tuple[State, ...] = ()
    repository: str = ""
    words: str = ""
    scope: Scope = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLine:
    """A repository: its tasks now, its pull requests and judged attempts ever, dollars ever."""

    forge: str
    repository_id: str
    name: str
    tasks: int
    queued: int
    running: int
    blocked: int
    in_review: int
    done: int
    opened: int
    merged: int
    closed: int
    judged: int
    verified: int
    spent: Money

    @property
    def full_name(self) -> str:
        """Return forge:owner/name."""
        return f"{self.forge}:{self.name}"

    @property
    def per_merged(self) -> Money | None:
        """Return dollars per merged pull request, None before the first."""
        return self.spent / self.merged if self.merged else None

    @property
    def verified_percent(self) -> int | None:
        """Return how many of a hundred judged attempts were verified, None before the first."""
        return round(100 * self.verified / self.judged) if self.judged else None


class Board:
    """Lists of tasks and repositories."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def counts(self, scope: Scope = None) -> dict[State, int]:
        """Return how many tasks are in each state."""
        query = f"SELECT state, count(*) AS count FROM tasks WHERE {_SEEN} GROUP BY state"
        with self._database.read() as connection:
            rows = connection.execute(query, {"scope": _scope_text(scope)}).fetchall()
        return dict.fromkeys(State, 0) | {State(row["state"]): row["count"] for row in rows}

    def summary(self, limit: int, scope: Scope = None) -> Summary:
        """Return how many tasks are in each state, and those that changed last, by kind."""
        counts = dict.fromkeys(State, 0)
        newest: dict[State, list[int]] = {}
        with self._database.read() as connection:
            rows = connection.execute(_SUMMARY, {"scope": _scope_text(scope), "limit": limit}).fetchall()
        for row in rows:
            if row["place"] == 0:
                counts[State(row["kind"])] = row["number"]
            else:
                newest.setdefault(State(row["kind"]), []).append(row["number"])
        return Summary(counts=counts, newest=newest)

    def lines_of(self, task_ids: Iterable[int]) -> list[BoardLine]:
        """Return these tasks, the one that changed last first."""
        page = f"SELECT {_COLUMNS} FROM tasks WHERE id IN (SELECT value FROM json_each(:ids))"
        query = _LINES.format(page=page, order="page.updated_at DESC, page.id DESC")
        with self._database.read() as connection:
            rows = connection.execute(query, {"ids": json.dumps(list(task_ids))}).fetchall()
        return [_line(row) for row in rows]

    def count(self, choice: Choice) -> int:
        """Return how many tasks are chosen."""
        with self._database.read() as connection:
            return int(connection.execute(f"SELECT count(*) {_CHOSEN}", _values(choice)).fetchone()[0])

    def lines(self, choice: Choice, *, order: str, limit: int, offset: int = 0) -> list[BoardLine]:
        """Return one page of the chosen tasks. `order`: newest, changed, or turn (as claimed)."""
        by = _ORDERS[order]
        # Said literally, the one state has its partial index.
        one = f" AND state = '{choice.states[0].value}'" if len(choice.states) == 1 else ""
        page = f"SELECT {_COLUMNS} {_CHOSEN}{one} ORDER BY {by} LIMIT :limit OFFSET :offset"
        query = _LINES.format(page=page, order=", ".join(f"page.{each}" for each in by.split(", ")))
        values = _values(choice) | {"limit": limit, "offset": offset}
        with self._database.read() as connection:
            rows = connection.execute(query, values).fetchall()
        return [_line(row) for row in rows]

    def places(self, scope: Scope = None) -> list[PlaceLine]:
        """Return every repository that ever had a task, by name."""
        with self._database.read() as connection:
            rows = connection.execute(_PLACES, {"scope": _scope_text(scope)}).fetchall()
            newest = json.dumps([row["newest"] for row in rows])
            names = {row[0]: row[1] for row in connection.execute(_NAMES, (newest,))}
            opened = _by_place(connection.execute(_OPENED))
            ended = _by_place(connection.execute(_ENDED))
            judged = _by_place(connection.execute(_JUDGED))
            spent = _by_place(connection.execute(_SPENT))
        lines = []
        for row in rows:
            place = (row["forge"], row["repository_id"])
            ends, seen = ended.get(place), judged.get(place)
            lines.append(
                PlaceLine(
                    forge=row["forge"],
                    repository_id=row["repository_id"],
                    name=names[row["newest"]],
                    **{each: row[each] for each in _COUNTED},
                    opened=opened[place]["opened"] if place in opened else 0,
                    merged=ends["merged"] if ends else 0,
                    closed=ends["closed"] if ends else 0,
                    judged=seen["judged"] if seen else 0,
                    verified=seen["verified"] if seen else 0,
                    spent=dollars(spent[place]["spent"] if place in spent else 0),
                )
            )
        return sorted(lines, key=lambda line: line.full_name.lower())

    def oldest_due(self, now: datetime) -> datetime | None:
        """Return since when the task that waits longest could have been taken, None where none waits."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT min(max(updated_at, not_before)) FROM tasks"
                " WHERE state = 'queued' AND not_before <= ?",
                (time_text(now),),
            ).fetchone()
        return moment_of(row[0]) if row[0] else None


_COUNTED = ("tasks", "queued", "running", "blocked", "in_review", "done")


def _values(choice: Choice) -> dict[str, str | int | None]:
    return {
        "scope": _scope_text(choice.scope),
        "states": json.dumps([state.value for state in choice.states]) if choice.states else None,
        "repository": choice.repository.lower(),
        "words": choice.words.lower().removeprefix("#"),
    }


def _scope_text(scope: Scope) -> str | None:
    return None if scope is None else json.dumps(sorted(scope))


def _by_place(rows: Iterable[sqlite3.Row]) -> dict[Place, sqlite3.Row]:
    return {(row["forge"], row["repository_id"]): row for row in rows}


def _line(row: sqlite3.Row) -> BoardLine:
    return BoardLine(
        task=task_from(row),
        spent=dollars(row["spent"]),
        attempt_id=row["attempt_id"] or 0,
        attempt_number=row["attempt_number"] or 0,
        attempt_started_at=moment_of(row["attempt_started_at"]) if row["attempt_started_at"] else None,
        steps=row["steps"] or 0,
        phase=row["phase"] or "",
        pull=(row["pull_number"], row["pull_url"]) if row["pull_number"] is not None else None,
    )
