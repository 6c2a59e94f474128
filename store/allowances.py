"""What maintainers have allowed: changes of protected paths and findings, on one task, with who and when."""

from __future__ import annotations

from domain.allowing import Allowance
from domain.approving import Gate
from domain.model import Actor, Task
from domain.ports import Clock
from domain.states import Note
from store.database import Database
from store.rows import moment_of, storable, time_text

_ALLOW = """
    INSERT INTO allowances (task_id, change, actor_id, actor_login, comment_id, at)
    VALUES (:task, :change, :actor, :login, :comment, :at)
    ON CONFLICT (task_id, change) DO NOTHING
"""

_NOTE = """
    INSERT INTO task_events (task_id, at, trigger, from_state, to_state, generation, detail)
    SELECT id, :at, :note, state, state, generation, :detail FROM tasks WHERE id = :task
"""


class AllowanceRecords:
    """The part of the task queue that keeps allowances."""

    _database: Database
    _clock: Clock

    def allow(self, task: Task, change: str, *, by: Actor, comment_id: str) -> bool:
        """Write down that one exact change, finding, tree or plan is allowed; False where it was before."""
        login = storable(by.login)
        values = {
            "task": task.id,
            "change": change,
            "actor": by.id,
            "login": login,
            "comment": comment_id,
            "at": time_text(self._clock.now()),
            "note": Note.CHANGE_ALLOWED,
            "detail": f"{login} allowed {_named(change)}",
        }
        with self._database.write() as connection:
            if not connection.execute(_ALLOW, values).rowcount:
                return False
            connection.execute(_NOTE, values)
        return True

    def allowances(self, task_id: int) -> tuple[Allowance, ...]:
        """Return what was allowed on a task, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT * FROM allowances WHERE task_id = ? ORDER BY id", (task_id,)
            ).fetchall()
        return tuple(
            Allowance(
                change=row["change"],
                by=Actor(id=row["actor_id"], login=row["actor_login"]),
                comment_id=row["comment_id"],
                at=moment_of(row["at"]),
            )
            for row in rows
        )


def _named(change: str) -> str:
    gate, _, name = change.partition("-")
    if gate in set(Gate):
        return f"the {'plan' if gate == Gate.PLAN else 'tree'} {name.partition('-')[0]}"
    return f"the finding {change}" if name else f"the change {change} of protected paths"
