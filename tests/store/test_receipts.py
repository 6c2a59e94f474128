"""The chain of receipts in the store: linked, fenced, repeated without harm, never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, StaleWrite
from domain.model import Attempt, Outcome, Task
from domain.ports import Landing
from domain.states import Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.migrate import apply, known_migrations
from store.receipts import SqliteReceipts, read_receipts
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, SetClock, running_task


class Pen:
    """Writes receipts whose hash tells their number, and remembers what came before each."""

    def __init__(self) -> None:
        self.before: list[str] = []

    def __call__(self, previous: str) -> tuple[str, bytes]:
        self.before.append(previous)
        return f"{len(self.before):064x}", b"{}"


@pytest.fixture
def receipts(database: Database, clock: SetClock) -> SqliteReceipts:
    return SqliteReceipts(database, clock)


@pytest.fixture
def held(inbox: SqliteInbox, queue: SqliteTaskQueue) -> tuple[Task, Attempt]:
    task = running_task(inbox, queue, 12)
    return task, queue.begin_attempt(task)


def test_each_receipt_is_given_the_hash_of_the_one_before(
    receipts: SqliteReceipts, held: tuple[Task, Attempt]
) -> None:
    pen = Pen()

    first = receipts.append(held[1], Outcome.UNVERIFIED, "t1", pen)
    second = receipts.append(held[1], Outcome.VERIFIED, "t2", pen)

    assert pen.before == ["", first.sha256]
    assert receipts.of_attempt(held[1].id) == [first, second]
    assert receipts.named(second.sha256) == second
    assert receipts.named("f" * 64) is None


def test_the_same_ending_again_is_the_same_receipt(
    receipts: SqliteReceipts, held: tuple[Task, Attempt]
) -> None:
    pen = Pen()

    first = receipts.append(held[1], Outcome.VERIFIED, "t1", pen)

    assert receipts.append(held[1], Outcome.VERIFIED, "t1", pen) == first
    assert len(pen.before) == 1


def test_a_worker_that_has_lost_its_task_writes_none(
    receipts: SqliteReceipts, held: tuple[Task, Attempt], queue: SqliteTaskQueue, clock: SetClock
) -> None:
    task, attempt = held
    clock.forward(seconds=3600)
    queue.move(task, Trigger.RELEASED, Landing())
    again = queue.claim("worker-2/bbbb", 30.0)
    assert again is not None
    queue.begin_attempt(again)

    with pytest.raises(StaleWrite):
        receipts.append(attempt, Outcome.VERIFIED, "t1", Pen())
    assert receipts.of_attempt(attempt.id) == []


def test_what_a_cancel_has_ended_may_still_be_written_down(
    receipts: SqliteReceipts, held: tuple[Task, Attempt], queue: SqliteTaskQueue
) -> None:
    task, attempt = held
    queue.move(task, Trigger.CANCELLED, Landing())

    assert receipts.append(attempt, Outcome.CANCELLED, "", Pen()).outcome is Outcome.CANCELLED


@pytest.mark.parametrize("sentence", ["UPDATE receipts SET tree = 'x'", "DELETE FROM receipts"])
def test_a_receipt_is_never_changed(
    receipts: SqliteReceipts, held: tuple[Task, Attempt], database: Database, sentence: str
) -> None:
    receipts.append(held[1], Outcome.VERIFIED, "t1", Pen())

    with pytest.raises(sqlite3.IntegrityError, match="not changed"), database.write() as connection:
        connection.execute(sentence)


def test_two_receipts_cannot_name_the_same_one_before(
    receipts: SqliteReceipts, held: tuple[Task, Attempt]
) -> None:
    receipts.append(held[1], Outcome.VERIFIED, "t1", lambda previous: ("a" * 64, b"{}"))

    with pytest.raises(sqlite3.IntegrityError):
        receipts.append(held[1], Outcome.VERIFIED, "t2", lambda previous: ("a" * 64, b"{}"))


def test_the_chain_is_read_from_a_file_beside_its_service(
    file_database: Database, clock: SetClock, tmp_path: Path, running: Callable[[Database], Attempt]
) -> None:
    kept = SqliteReceipts(file_database, clock).append(running(file_database), Outcome.VERIFIED, "t1", Pen())

    assert read_receipts(tmp_path / "fixwright.db") == [kept]


@pytest.mark.long
def test_a_database_from_before_receipts_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    apply(connection, known_migrations()[:3])
    connection.commit()
    connection.close()

    with pytest.raises(ConfigurationError, match="older version"):
        read_receipts(path)


@pytest.fixture
def running(clock: SetClock) -> Callable[[Database], Attempt]:
    """Begin an attempt in a database."""

    def begin(database: Database) -> Attempt:
        inbox, queue = SqliteInbox(database, CATEGORIES), SqliteTaskQueue(database, clock)
        return queue.begin_attempt(running_task(inbox, queue, 12))

    return begin
