"""The API's world for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.api.world import ApiWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ApiWorld]:
    world = ApiWorld(tmp_path)
    yield world
    world.database.close()
