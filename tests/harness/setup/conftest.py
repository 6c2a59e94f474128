"""A world for set-ups, in a directory that the sandbox's user may pass through."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.harness.git_world import reachable_directory
from tests.harness.setup.setup_world import SetupWorld


@pytest.fixture(scope="session")
def uid() -> int | None:
    return 210_000 + os.getpid() if os.geteuid() == 0 else None


@pytest.fixture
def world(uid: int | None) -> Iterator[SetupWorld]:
    with reachable_directory() as root:
        yield SetupWorld(root, uid)
