"""What whole conversations share: one service for each forge, started once for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.journeys.square import Square, opened


@pytest.fixture(scope="session", params=["local", "github"])
def shared(request: pytest.FixtureRequest) -> Iterator[Square]:
    """The service on a forge; it goes on from journey to journey."""
    with opened(request.param) as square:
        yield square


@pytest.fixture
def square(shared: Square) -> Iterator[Square]:
    """The same; at the end of each journey it is looked at whether anything is amiss."""
    yield shared
    shared.close_talks()
