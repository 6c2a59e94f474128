"""A real web process for the tests of the door and the console, and what its senders need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.senders import SECRET, Sender
from tests.app.web_process import WebProcess, running_web_process


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    """The web process as it is deployed, with a fresh data directory, shared by a module's tests."""
    with running_web_process(tmp_path_factory.mktemp("web")) as process:
        yield process


@pytest.fixture
def sender(web: WebProcess) -> Sender:
    return Sender(web.port, SECRET)
