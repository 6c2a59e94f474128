"""The API's worlds for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database
from tests.app.api.service import Service
from tests.app.api.world import ApiWorld
from tests.worker.town import NOTES, Town


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ApiWorld]:
    world = ApiWorld(tmp_path)
    yield world
    world.database.close()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file to copy."""
    path = tmp_path_factory.mktemp("template") / "fixwright.db"
    with Database(path) as database:
        database.migrate()
    return path


@pytest.fixture
def town(tmp_path: Path, template: Path) -> Iterator[Town]:
    town = Town(tmp_path / "town", template, NOTES)
    yield town
    town.close()


@pytest.fixture
def service(town: Town) -> Service:
    """A town with an unlabelled issue, and its API."""
    town.world.open_issue(town.repository.id, town.stranger, title="No tests", body="Say so.")
    return Service(town)
