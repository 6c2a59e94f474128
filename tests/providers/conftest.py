"""A small embedded world and a receiver of its webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Actor, IssueRef, Repository
from providers.local.outbox import WebhookTarget
from providers.local.people import LocalWorld
from tests.providers.receiver import Receiver

SECRET = "an-example-secret-of-thirty-two-bytes"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.close()


@pytest.fixture
def target(receiver: Receiver) -> WebhookTarget:
    return WebhookTarget(url=receiver.url, secret=SECRET)


@pytest.fixture
def world(tmp_path: Path) -> LocalWorld:
    """A forge that tells nobody; tests of webhooks open the same directory with a target."""
    return LocalWorld(tmp_path / "forge")


@pytest.fixture
def rosa(world: LocalWorld) -> Actor:
    return world.create_user("rosa")


@pytest.fixture
def repository(world: LocalWorld) -> Repository:
    files = {"README.md": b"# Widgets\n", "lib/a.py": b"a = 1\n"}
    return world.create_repository("octo/widgets", files=files)


@pytest.fixture
def issue(world: LocalWorld, repository: Repository, rosa: Actor) -> IssueRef:
    return world.open_issue(repository.id, rosa, title="Crash on start", body="It crashes.")
