"""What the attacks are played on: sessions of each back end, and whole workers under siege."""

# ruff: noqa: E402 - helpers that assert have to be named before they are imported
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.redteam.siege", "tests.redteam.secrets_hunt")

from tests.harness.git_world import reachable_directory
from tests.harness.sandbox.conftest import (  # noqa: F401 - fixtures of the back ends' own suite
    as_root,
    back_end,
    bubblewrap,
    confined,
    container,
    engine,
    open_session,
    policy,
    room,
    session,
    survivors,
    uid,
)
from tests.redteam.canaries import CANARIES
from tests.redteam.siege import Siege
from tests.worker.conftest import template  # noqa: F401 - a migrated database to copy

EVERYDAY = {
    "test_an_obedient_agent_is_obedient",
    "test_d85_no_process_and_no_file_shows_a_token_while_git_works",
}
"""Sieges take a second each: all others wait for the long suite, and for `make redteam`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lays siege to a whole worker as long."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & {"siege", "lay_siege"} and item.name not in EVERYDAY:
            item.add_marker(pytest.mark.long)


LaySiege = Callable[..., Siege]


@pytest.fixture
def lay_siege(template: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[LaySiege]:  # noqa: F811
    """Make towns to attack, with a service's secrets in this process' environment."""
    for name, secret in CANARIES.items():
        monkeypatch.setenv(name, secret)
    made: list[Siege] = []
    with reachable_directory() as root:

        def lay(files: Mapping[str, str] | None = None, **settings: Any) -> Siege:
            place = root / f"town-{len(made)}"
            place.mkdir()
            made.append(Siege(place, template, files, **settings))
            return made[-1]

        yield lay
        for siege in made:
            siege.close()


@pytest.fixture
def siege(lay_siege: LaySiege) -> Siege:
    """A town with a small library, a bug in it, and tests that do not see the bug."""
    return lay_siege()
