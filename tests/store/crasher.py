"""Run as a process: does one write again and again, each time killed (SIGKILL) before another statement.

Usage: python -m tests.store.crasher OPERATION TEMPLATE DIRECTORY. Copy n of the template, `n.db`, is left as
a process that died before its statement number n leaves it; the last copy saw the operation through.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from domain.model import Money, Outcome, Usage
from domain.ports import Landing, Reservation
from domain.states import Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    CATEGORIES,
    LEASE,
    NOON,
    WORKER,
    SetClock,
    command,
    delivery,
    labelled,
    policy,
    pull,
)


def accept(database: Database) -> None:
    SqliteInbox(database, CATEGORIES).accept(
        [delivery(labelled(99), "new"), delivery(command(99), "c")], policy
    )


def claim(database: Database) -> None:
    SqliteTaskQueue(database, SetClock()).claim(WORKER, LEASE)


def release(database: Database) -> None:
    queue = SqliteTaskQueue(database, SetClock())
    queue.move(queue.task(1), Trigger.RELEASED, Landing(not_before=NOON))


def end(database: Database) -> None:
    queue = SqliteTaskQueue(database, SetClock())
    queue.end_attempt(queue.attempts(1)[0], Outcome.UNVERIFIED)


def publish(database: Database) -> None:
    queue = SqliteTaskQueue(database, SetClock())
    queue.published(queue.publications(1)[0], pull=pull(57, "fixwright/issue-12"))


def reserve(database: Database) -> None:
    queue = SqliteTaskQueue(database, SetClock())
    SqliteLedger(database, SetClock()).reserve(
        queue.task(1), queue.attempts(1)[0], model="m", decide=lambda spent: (1, Money("0.5"))
    )


def settle(database: Database) -> None:
    reservation = Reservation(id=1, attempt_id=1, amount=Money("0.25"), max_output_tokens=1)
    SqliteLedger(database, SetClock()).settle(reservation, usage=Usage(), cost=Money("0.1"), billed=None)


OPERATIONS = {each.__name__: each for each in (accept, claim, release, end, publish, reserve, settle)}


def die_before(statement: int, path: Path, operation: Callable[[Database], None]) -> bool:
    """Do the operation in a forked child that kills itself; return whether it came to the end."""
    child = os.fork()
    if child == 0:
        database = Database(path)
        left = statement

        def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        database._writer.set_trace_callback(count)
        operation(database)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main() -> None:
    name, template, directory = sys.argv[1:]
    statement, survived = 0, False
    while not survived:
        statement += 1
        path = Path(shutil.copy(template, Path(directory) / f"{statement}.db"))
        survived = die_before(statement, path, OPERATIONS[name])


if __name__ == "__main__":
    main()
