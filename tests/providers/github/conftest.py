"""A GitHub on loopback with one served repository, and a clock that sleeping moves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Actor, IssueRef
from providers.github.calls import Patience
from providers.github.forge import GithubForge
from tests.providers.github.stage import GithubStage


class Naps:
    """What was slept, instead of sleeping."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.ahead = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ahead += seconds

    def now(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GithubStage]:
    stage = GithubStage(tmp_path / "github")
    yield stage
    stage.close()


@pytest.fixture
def repository_id(stage: GithubStage) -> str:
    return stage.repository()


@pytest.fixture
def patience(naps: Naps) -> Patience:
    return Patience(sleep=naps.sleep, now=naps.now)


@pytest.fixture
def forge(stage: GithubStage, repository_id: str, patience: Patience) -> GithubForge:
    """A client with the patience that it has in the service, which has looked up where things are."""
    forge = stage.client(patience)
    assert forge.identity.is_bot
    forge.repository(repository_id)
    stage.state.seen.clear()
    return forge


@pytest.fixture
def person(stage: GithubStage) -> Actor:
    return stage.person("rosa")


@pytest.fixture
def issue(stage: GithubStage, repository_id: str, person: Actor) -> IssueRef:
    return stage.open_issue(repository_id, person, "Crash on start", "It crashes.")
