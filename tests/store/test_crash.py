"""SIGKILL between any two statements: after it, all of a write is there or none of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.model import Money
from domain.ports import Admission
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    CATEGORIES,
    LEASE,
    WORKER,
    SetClock,
    admit_task,
    command,
    delivery,
    labelled,
    policy,
    publish,
)

ROOT = Path(__file__).parents[2]

# Each returns the facts that must have changed together.
Facts = Callable[[Database], set[bool]]


def _accepted(database: Database) -> set[bool]:
    with database.read() as connection:
        return {
            bool(connection.execute(query).fetchone()[0])
            for query in (
                "SELECT count(*) FROM tasks WHERE issue_number = 99",
                "SELECT count(*) FROM task_events WHERE task_id > 2",
                "SELECT count(*) FROM deliveries WHERE delivery_id = 'new'",
                "SELECT count(*) FROM deliveries WHERE delivery_id = 'c'",
                "SELECT count(*) FROM signals",
                "SELECT count(*) FROM body_packs WHERE id > 2",
            )
        }


def _claimed(database: Database) -> set[bool]:
    return _flags(
        database, "state = 'running'", "lease_until IS NOT NULL", "generation = 1", "@claimed", row=2
    )


def _released(database: Database) -> set[bool]:
    return _flags(database, "state = 'queued'", "lease_until IS NULL", "not_before <> ''", "@released", row=1)


def _flags(database: Database, *conditions: str, row: int) -> set[bool]:
    found = set()
    with database.read() as connection:
        for condition in conditions:
            if condition.startswith("@"):
                query = (
                    f"SELECT count(*) FROM task_events WHERE task_id = {row} AND trigger = '{condition[1:]}'"
                )
            else:
                query = f"SELECT count(*) FROM tasks WHERE id = {row} AND {condition}"
            found.add(bool(connection.execute(query).fetchone()[0]))
    return found


def _ended(database: Database) -> set[bool]:
    queue = SqliteTaskQueue(database, SetClock())
    return {queue.task(1).attempts == 1, queue.attempts(1)[0].outcome is not None}


def _published(database: Database) -> set[bool]:
    queue = SqliteTaskQueue(database, SetClock())
    publication = queue.publications(1)[0]
    return {
        publication.done_at is not None,
        publication.pull_number == 57,
        queue.task(1).wip_sha == publication.commit_sha,
    }


def _reserved(database: Database) -> set[bool]:
    ledger = SqliteLedger(database, SetClock())
    return {ledger.spent_on_task(1) == Money("0.75"), ledger.calls_on_attempt(1) == 2}


def _settled(database: Database) -> set[bool]:
    ledger = SqliteLedger(database, SetClock())
    assert ledger.spent_on_task(1) in {Money("0.25"), Money("0.1")}
    return {ledger.spent_on_task(1) == Money("0.1")}


@pytest.fixture
def prepared(tmp_path: Path, template: Path) -> Path:
    """One RUNNING task with an open attempt, an intent and a reservation, and one QUEUED task."""
    path = Path(shutil.copy(template, tmp_path / "prepared.db"))
    with Database(path) as database:
        inbox = SqliteInbox(database, CATEGORIES)
        queue = SqliteTaskQueue(database, SetClock())
        admit_task(inbox, queue, 12)
        task = queue.claim(WORKER, LEASE)
        assert task is not None
        publish(queue, task, branch="fixwright/issue-12", pull_number=None)
        SqliteLedger(database, SetClock()).reserve(
            task, queue.begin_attempt(task), model="m", decide=lambda spent: (1, Money("0.25"))
        )
        admit_task(inbox, queue, 13)
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ("operation", "facts", "statements"),
    [
        ("accept", _accepted, 9),
        ("claim", _claimed, 4),
        ("release", _released, 4),
        ("end", _ended, 4),
        ("publish", _published, 5),
        ("reserve", _reserved, 5),
        ("settle", _settled, 3),
    ],
)
def test_all_or_nothing(
    prepared: Path, tmp_path: Path, operation: str, facts: Facts, statements: int
) -> None:
    subprocess.run(
        [sys.executable, "-m", "tests.store.crasher", operation, str(prepared), str(tmp_path)],
        check=True,
        cwd=ROOT,
        capture_output=True,
    )

    left = sorted(tmp_path.glob("[0-9]*.db"), key=lambda path: int(path.stem))
    seen = []
    for path in left:
        with Database(path) as database:
            database.migrate()
            seen.append(facts(database))

    assert len(left) > statements
    assert seen == [{False}] * (len(seen) - 1) + [{True}]


@pytest.mark.long
def test_redelivery_after_a_crash_makes_exactly_one_task(prepared: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "tests.store.crasher", "accept", str(prepared), str(tmp_path)],
        check=True,
        cwd=ROOT,
        capture_output=True,
    )

    for path in tmp_path.glob("[0-9]*.db"):
        with Database(path) as database:
            inbox = SqliteInbox(database, CATEGORIES)
            queue = SqliteTaskQueue(database, SetClock())
            answers = inbox.accept([delivery(labelled(99), "new"), delivery(command(99), "c")], policy)
            assert [task.issue.number for task in queue.tasks()] == [99, 13, 12]
            assert len(queue.signals()) == 1
            assert {each.task_id for each in answers} == {3}
            again = inbox.accept([delivery(labelled(99), "new")], policy)
            assert again[0].admission is Admission.DUPLICATE
