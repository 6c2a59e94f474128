"""One web process with a month of a shop's life, and one browser that is logged in, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.web_process import CONSOLE_TOKEN, WebProcess, running_web_process
from tests.browser.browsing import Page, browser
from tests.browser.seeding import seed

REPOSITORIES = "local:acme/fairshare,local:octo/lamp"


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    directory: Path = tmp_path_factory.mktemp("console")
    seed(directory)
    with running_web_process(directory, FIXWRIGHT_REPOSITORIES=REPOSITORIES) as process:
        yield process


@pytest.fixture(scope="session")
def stranger(service: WebProcess) -> Iterator[Page]:
    """A browser of somebody who is not logged in."""
    with browser(f"http://127.0.0.1:{service.port}") as page:
        yield page


@pytest.fixture(scope="session")
def operator(service: WebProcess) -> Iterator[Page]:
    """A browser of the operator, logged in."""
    with browser(f"http://127.0.0.1:{service.port}") as page:
        page.look(1280, "light")
        page.log_in(CONSOLE_TOKEN)
        yield page
