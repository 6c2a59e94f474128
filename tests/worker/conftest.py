"""Towns for the worker's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from store.database import Database
from tests.worker.town import CALC, NOTES, Town


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file to copy."""
    path = tmp_path_factory.mktemp("template") / "fixwright.db"
    with Database(path) as database:
        database.migrate()
    return path


BuildTown = Callable[..., Town]


@pytest.fixture
def build(tmp_path: Path, template: Path) -> Iterator[BuildTown]:
    towns: list[Town] = []

    def built(files: Mapping[str, str] | None = None, **settings: Any) -> Town:
        town = Town(tmp_path / f"town-{len(towns)}", template, files, **settings)
        towns.append(town)
        return town

    yield built
    for town in towns:
        town.close()


@pytest.fixture
def calc(build: BuildTown) -> Town:
    """A town with a small library, a bug in it, and tests that do not see the bug."""
    return build(CALC)


@pytest.fixture
def notes(build: BuildTown) -> Town:
    """A town with documentation and no tests: quick to verify."""
    return build(NOTES)
