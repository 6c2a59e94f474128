"""A quick look at the console in Chromium; `make test-browser` looks at all of it."""

from __future__ import annotations

import pytest

from tests.browser.browsing import Page

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(
    ("path", "width", "scheme"), [("/console", 1280, "dark"), ("/console/tasks/14", 375, "light")]
)
def test_the_console_is_whole(operator: Page, path: str, width: int, scheme: str) -> None:
    operator.look(width, scheme)
    operator.complaints()
    operator.go(path)
    assert operator.overflow() <= 0 and operator.complaints() == [] and operator.violations() == []
    assert operator.run("return window.hit") is None
