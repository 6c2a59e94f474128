"""The ledger: append-only money. What is reserved counts as spent until it is settled."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from domain.budget import MOST_TOKENS, CapRaise, Spent, show_money, utc_day
from domain.errors import StaleWrite
from domain.model import Actor, Attempt, Money, Price, Task, Usage
from domain.ports import Clock, Ledger, Reservation
from domain.states import Note
from store.database import Database
from store.rows import billionths, dollars, moment_of, storable, time_text

_HELD = """
    SELECT 1 FROM tasks JOIN attempts ON task_id = tasks.id
    WHERE tasks.id = ? AND state = 'running' AND tasks.generation = ?
        AND attempts.id = ? AND attempts.generation = tasks.generation AND outcome IS NULL
"""

_RESERVE = """
    INSERT INTO ledger
        (task_id, attempt_id, forge, repository_id, day, at, model, amount, max_output_tokens,
        price_source, estimated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_SETTLE = """
    INSERT INTO ledger (
        reservation, task_id, attempt_id, forge, repository_id, day, at, model, amount, max_output_tokens,
        cost, billed, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
        price_source, estimated
    )
    SELECT id, task_id, attempt_id, forge, repository_id, day, :at, model, :charged - amount,
        max_output_tokens, :cost, :billed, :input, :output, :cache_read, :cache_write,
        price_source, estimated
    FROM ledger
    WHERE id = :reservation AND NOT EXISTS (SELECT 1 FROM ledger WHERE reservation = :reservation)
"""

_ON_ATTEMPT = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE attempt_id = ?"
_ON_TASK = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE task_id = ?"
_ON_DAY = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE forge = ? AND repository_id = ? AND day = ?"
_ON_SERVICE_DAY = "SELECT coalesce(sum(amount), 0) FROM ledger WHERE day = ?"
_CALLS = "SELECT count(*) FROM ledger WHERE attempt_id = ? AND reservation IS NULL"

_ESTIMATED = "SELECT EXISTS (SELECT 1 FROM ledger WHERE task_id = ? AND estimated)"
_RAISED = "SELECT amount, actor_login, comment_id, at FROM cap_raises WHERE task_id = ?"

_RAISE = """
    INSERT INTO cap_raises (task_id, amount, actor_id, actor_login, comment_id, at)
    SELECT :task, :amount, :actor, :login, :comment, :at
    WHERE NOT EXISTS (SELECT 1 FROM cap_raises WHERE task_id = :task)
"""

_NOTE = """
    INSERT INTO task_events (task_id, at, trigger, from_state, to_state, generation, detail)
    SELECT id, :at, :note, state, state, generation, :detail FROM tasks WHERE id = :task
"""

_BY_DAY = """
    SELECT forge, repository_id, day, sum(amount) AS spent, sum(reservation IS NULL) AS calls
    FROM ledger
    GROUP BY day, forge, repository_id
    ORDER BY day DESC, forge, repository_id
    LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpend:
    """What a repository cost on one UTC day, open reservations included, and in how many model calls."""

    forge: str
    repository_id: str
    day: str
    spent: Money
    calls: int


class SqliteLedger(Ledger):
    """`domain.ports.Ledger` on a database. A call is booked on the UTC day of its reservation."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Take a migrated database."""
        self._database = database
        self._clock = clock

    def reserve(
        self,
        task: Task,
        attempt: Attempt,
        *,
        model: str,
        decide: Callable[[Spent], tuple[int, Money]],
        price: Price | None = None,
    ) -> Reservation:
        """Read what is spent, ask `decide` for (output tokens, dollars), and book it, in one transaction.

        `price` is what `decide` reckons with; its source is kept. `decide` must not
        use the store. What it raises passes through, and nothing is written.

        Raises:
            StaleWrite: the task is no longer RUNNING under the caller's generation, or the attempt is
                closed or taken up by another.
        """
        forge, repository_id = task.issue.forge, task.issue.repository_id
        with self._database.write() as connection:
            now = self._clock.now()
            day = utc_day(now)
            if connection.execute(_HELD, (task.id, task.generation, attempt.id)).fetchone() is None:
                raise StaleWrite(f"task {task.id} is no longer ours: no model call may be made for it")
            max_output_tokens, amount = decide(_spent(connection, task, attempt.id, day))
            booked = billionths(amount)
            values = (
                task.id,
                attempt.id,
                forge,
                repository_id,
                day,
                time_text(now),
                model,
                booked,
                max_output_tokens,
                price.source if price else "",
                bool(price and price.estimated),
            )
            entry = connection.execute(_RESERVE, values).lastrowid
        return Reservation(
            id=entry or 0,
            attempt_id=attempt.id,
            amount=dollars(booked),
            max_output_tokens=max_output_tokens,
        )

    def settle(self, reservation: Reservation, *, usage: Usage, cost: Money, billed: Money | None) -> None:
        """Book what a call really cost: the larger of `cost` and `billed`. A second time is a no-op.

        Not fenced: money that is spent is spent, whatever became of the task. Raises KeyError.
        """
        values = {
            "reservation": reservation.id,
            "at": time_text(self._clock.now()),
            "cost": billionths(cost),
            "billed": None if billed is None else billionths(billed),
            "charged": billionths(cost if billed is None else max(cost, billed)),
            "input": _storable(usage.input_tokens),
            "output": _storable(usage.output_tokens),
            "cache_read": _storable(usage.cache_read_tokens),
            "cache_write": _storable(usage.cache_write_tokens),
        }
        with self._database.write() as connection:
            booked = connection.execute(_SETTLE, values).rowcount
            if not booked and not _is_settled(connection, reservation.id):
                raise KeyError(f"there is no reservation {reservation.id}")

    def raise_cap(self, task: Task, amount: Money, *, by: Actor, comment_id: str) -> bool:
        """Write down that a task's cap is raised, with who and when; False where it was before."""
        login = storable(by.login)
        values = {
            "task": task.id,
            "amount": billionths(amount),
            "actor": by.id,
            "login": login,
            "comment": comment_id,
            "at": time_text(self._clock.now()),
            "note": Note.BUDGET_RAISED,
            "detail": f"{login} raised the cap of one attempt to {show_money(amount)}",
        }
        with self._database.write() as connection:
            if not connection.execute(_RAISE, values).rowcount:
                return False
            connection.execute(_NOTE, values)
        return True

    def standing(self, task: Task, attempt: Attempt | None = None) -> Spent:
        """Return what is spent against each cap now, on one snapshot; without an attempt, nothing on it."""
        with self._database.read() as connection:
            day = utc_day(self._clock.now())
            return _spent(connection, task, attempt.id if attempt else 0, day)

    def spent_on_attempt(self, attempt_id: int) -> Money:
        """Return dollars, open reservations included."""
        return self._read(_ON_ATTEMPT, attempt_id)

    def spent_on_task(self, task_id: int) -> Money:
        """Return dollars over all attempts, open reservations included."""
        return self._read(_ON_TASK, task_id)

    def spent_on_day(self, forge: str, repository_id: str, day: str) -> Money:
        """Return a repository's dollars on a UTC day (YYYY-MM-DD), open reservations included."""
        return self._read(_ON_DAY, forge, repository_id, day)

    def calls_on_attempt(self, attempt_id: int) -> int:
        """Return how many calls were reserved, settled or not."""
        with self._database.read() as connection:
            return int(connection.execute(_CALLS, (attempt_id,)).fetchone()[0])

    def spend_by_day(self, limit: int = 30) -> list[DaySpend]:
        """Return the newest `limit` (day, repository) pairs with any spending, newest first."""
        with self._database.read() as connection:
            rows = connection.execute(_BY_DAY, (limit,)).fetchall()
        return [
            DaySpend(
                forge=row["forge"],
                repository_id=row["repository_id"],
                day=row["day"],
                spent=dollars(row["spent"]),
                calls=row["calls"],
            )
            for row in rows
        ]

    def _read(self, query: str, *key: str | int) -> Money:
        with self._database.read() as connection:
            return _sum(connection, query, *key)


def _spent(connection: sqlite3.Connection, task: Task, attempt_id: int, day: str) -> Spent:
    issue = task.issue
    return Spent(
        attempt=_sum(connection, _ON_ATTEMPT, attempt_id),
        task=_sum(connection, _ON_TASK, task.id),
        day=_sum(connection, _ON_DAY, issue.forge, issue.repository_id, day),
        service_day=_sum(connection, _ON_SERVICE_DAY, day),
        on=day,
        estimated=bool(connection.execute(_ESTIMATED, (task.id,)).fetchone()[0]),
        raised=_raised(connection, task.id),
    )


def _raised(connection: sqlite3.Connection, task_id: int) -> CapRaise | None:
    row = connection.execute(_RAISED, (task_id,)).fetchone()
    if row is None:
        return None
    return CapRaise(
        amount=dollars(row["amount"]),
        by=row["actor_login"],
        at=moment_of(row["at"]),
        comment_id=row["comment_id"],
    )


def _sum(connection: sqlite3.Connection, query: str, *key: str | int) -> Money:
    return dollars(connection.execute(query, key).fetchone()[0])


def _storable(count: int) -> int:
    """Return a provider's count as it is, unless no column could hold it."""
    return max(-MOST_TOKENS, min(count, MOST_TOKENS))


def _is_settled(connection: sqlite3.Connection, reservation_id: int) -> bool:
    query = "SELECT 1 FROM ledger WHERE reservation = ?"
    return connection.execute(query, (reservation_id,)).fetchone() is not None
