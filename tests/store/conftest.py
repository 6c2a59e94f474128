"""The stores under test, on a file and in memory, with a clock that stands still until it is moved."""

from __future__ import annotations

import shutil
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


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy: quicker than migrating for every test."""
    path = tmp_path_factory.mktemp("template") / "fixwright.db"
    with Database(path) as database:
        database.migrate()
    return path


@pytest.fixture(params=["file", "memory"])
def database(request: pytest.FixtureRequest, tmp_path: Path, template: Path) -> Iterator[Database]:
    path: Path | Literal[":memory:"] = ":memory:"
    if request.param == "file":
        path = Path(shutil.copy(template, tmp_path / "fixwright.db"))
    with Database(path) as database:
        database.migrate()
        yield database
        assert not database._writer.in_transaction


@pytest.fixture
def file_database(tmp_path: Path, template: Path) -> Iterator[Database]:
    with Database(Path(shutil.copy(template, tmp_path / "fixwright.db"))) as database:
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
