"""The stores under test, on a file and in memory, with a clock that stands still until it is moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from store.database import Database
from store.history import History
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, SetClock


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    path: Path | Literal[":memory:"] = tmp_path / "fixwright.db" if request.param == "file" else ":memory:"
    with Database(path) as database:
        database.migrate()
        yield database
        assert not database._writer.in_transaction


@pytest.fixture
def file_database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "fixwright.db") as database:
        database.migrate()
        yield database


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def inbox(database: Database) -> SqliteInbox:
    return SqliteInbox(database, CATEGORIES)


@pytest.fixture
def queue(database: Database, clock: SetClock) -> SqliteTaskQueue:
    return SqliteTaskQueue(database, clock)


@pytest.fixture
def ledger(database: Database, clock: SetClock) -> SqliteLedger:
    return SqliteLedger(database, clock)


@pytest.fixture
def history(database: Database) -> History:
    return History(database)
