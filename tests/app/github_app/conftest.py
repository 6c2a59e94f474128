"""A GitHub on loopback that makes Apps, and a setup page in front of it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from app.demo.github.server import GithubServer
from app.demo.github.state import GithubState
from app.github_app.flow import ManifestFlow
from app.github_app.lock import CodeLock
from app.github_app.pages import SetupPages
from app.github_app.site import SetupSite
from providers.github.making import CreatedApp, make_app
from tests.providers.github.contract import judge
from tests.providers.github.stage import HASTE

HERE = "http://127.0.0.1:8400"
PUBLIC = "https://fixwright.example.org"


@dataclass
class Hours:
    """A clock that tests move, in seconds."""

    passed: float = 0.0

    def now(self) -> float:
        return self.passed


@dataclass
class Github:
    """A GitHub and what its web pages do."""

    server: GithubServer
    state: GithubState = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.server.state

    def press(self, page: str) -> str:
        """Press the button of a review page; returns where GitHub sends the browser."""
        address = html.unescape(re.search(r'action="([^"]+)"', page)[1])  # type: ignore[index]  # it is there
        found = re.search(r'name="manifest" value="([^"]+)"', page)
        assert found is not None
        return self.post(address, html.unescape(found[1]))

    def post(self, address: str, manifest: str) -> str:
        answer = httpx.post(address, data={"manifest": manifest})
        assert answer.status_code == 302
        return answer.headers["location"]


@pytest.fixture
def github(tmp_path: Path) -> Iterator[Github]:
    state = GithubState(tmp_path / "github")
    server = GithubServer(state, judge)
    yield Github(server)
    server.close()
    assert server.state.broken == []


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def hours() -> Hours:
    return Hours()


def hasty(api_url: str, code: str) -> CreatedApp:
    """Ask once and do not wait."""
    return make_app(api_url, code, HASTE)


@pytest.fixture
def flow(github: Github, data: Path, hours: Hours) -> ManifestFlow:
    return ManifestFlow(data, github.server.url, make=hasty, now=hours.now)


@dataclass
class Setup:
    """A setup page that tests drive as browsers do."""

    site: SetupSite
    codes: list[str]

    def browser(self, root: str = HERE, **headers: str) -> TestClient:
        """Return a browser of its own, that follows nothing by itself."""
        application = SetupPages(self.site).application(once=True)
        client = TestClient(application, base_url=root, follow_redirects=False)
        client.headers.update({"Origin": root, **headers})
        return client

    def opened(self, root: str = HERE) -> TestClient:
        """Return a browser that has given the code."""
        browser = self.browser(root)
        assert enter(browser, self.codes[-1]).status_code == 303
        return browser


@pytest.fixture
def setup(flow: ManifestFlow, hours: Hours) -> Setup:
    codes: list[str] = []
    lock = CodeLock(codes.append, now=hours.now)
    lock.renew()
    return Setup(SetupSite(flow=flow, lock=lock, repositories=("github:acme/shop",)), codes)


def stamp_of(page: str) -> str:
    found = re.search(r'name="stamp" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


def enter(browser: TestClient, code: str) -> httpx.Response:
    """Type a code."""
    page = browser.get("/setup").text
    return browser.post("/setup/open", data={"code": code, "stamp": stamp_of(page)})


def wish(browser: TestClient, **changes: str) -> httpx.Response:
    """Fill in the second form."""
    wishes = {"name": "fixwright-acme", "organization": "acme", "public_url": PUBLIC, **changes}
    return browser.post("/setup/review", data={"stamp": stamp_of(browser.get("/setup").text), **wishes})
