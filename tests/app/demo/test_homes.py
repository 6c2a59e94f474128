"""The demo's GitHub: signs webhooks, can be asked for them, keeps its key to itself, shows its pages."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import jwt
import pytest

from app.demo.github.state import APP_ID, app_key
from app.demo.homes import GithubHome, LocalHome, open_home
from domain.errors import ConfigurationError
from domain.events import IssueLabelled
from domain.model import IssueRef
from providers.github.plugin import GithubProvider
from tests.providers.receiver import Receiver

SECRET = "an-example-secret-of-thirty-two-bytes"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path: Path, receiver: Receiver) -> Iterator[GithubHome]:
    home = GithubHome(tmp_path, "acme")
    home.announce_to(receiver.url.removesuffix("/webhooks/local"), SECRET)
    yield home
    home.close()


@pytest.fixture
def issue(home: GithubHome) -> IssueRef:
    repository = home.world.create_repository("acme/shop", files={"a.py": b"a = 1\n"})
    rosa = home.world.create_user("rosa")
    return home.world.open_issue(repository.id, rosa, title="It breaks", body="Badly.", labels=["bug"])


def asked(home: GithubHome, method: str, path: str) -> httpx.Response:
    """Ask the API as the App does."""
    now = int(time.time())
    token = jwt.encode({"iss": str(APP_ID), "iat": now - 60, "exp": now + 300}, app_key(), "RS256")
    address = home.settings()["FIXWRIGHT_GITHUB_API_URL"] + path
    return httpx.request(method, address, headers={"Authorization": f"Bearer {token}"}, trust_env=False)


def test_a_webhook_comes_as_github_sends_it(receiver: Receiver, issue: IssueRef) -> None:
    hook = receiver.received[-1]
    headers = [(name.encode(), value.encode()) for name, value in hook.headers.items()]
    dialect = GithubProvider().dialect()
    assert hook.path == "/webhooks/github" and hook.headers["user-agent"].startswith("GitHub-Hookshot/")
    assert dialect.verify(hook.body, headers, [SECRET.encode()])
    event = dialect.parse(hook.body, headers)
    assert isinstance(event, IssueLabelled) and (event.label, event.issue.number) == ("bug", issue.number)


@pytest.mark.long
def test_a_webhook_that_failed_is_listed_and_sent_again(
    home: GithubHome, receiver: Receiver, issue: IssueRef
) -> None:
    receiver.status = 503
    home.world.label(issue, home.world.create_user("mika"), "docs")
    failed = [hook for hook in asked(home, "GET", "/app/hook/deliveries").json() if hook["status_code"] > 299]
    assert [(hook["event"], hook["action"], hook["status_code"]) for hook in failed] == [
        ("issues", "labeled", 503)
    ]
    receiver.status = 202
    assert asked(home, "POST", f"/app/hook/deliveries/{failed[0]['id']}/attempts").status_code == 202
    assert receiver.received[-1].headers["x-github-delivery"] == failed[0]["guid"]
    shown = asked(home, "GET", "/app/hook/deliveries").json()
    assert {hook["status_code"] for hook in shown} == {202}


def test_an_address_shows_what_is_there(home: GithubHome, issue: IssueRef) -> None:
    origin = home.settings()["FIXWRIGHT_GITHUB_API_URL"].removesuffix("/api/v3")
    page = httpx.get(f"{origin}/acme/shop/issues/{issue.number}", trust_env=False)
    assert page.headers["content-type"].startswith("text/plain")
    assert "issue #1, open" in page.text and "It breaks" in page.text and "Badly." in page.text
    assert httpx.get(f"{origin}/acme/shop/issues/77", trust_env=False).status_code == 404


def test_what_no_github_would_answer_is_a_problem(home: GithubHome, tmp_path: Path) -> None:
    assert home.problems() == [] and (tmp_path / "app.pem").stat().st_mode & 0o777 == 0o600
    assert asked(home, "GET", "/gists").status_code == 501
    assert home.problems() == ["GitHub: there is no GET /gists here"]


def test_a_forge_is_opened_by_its_name(tmp_path: Path) -> None:
    assert isinstance(open_home("local", tmp_path, "acme"), LocalHome)
    with pytest.raises(ConfigurationError, match="no forge 'gitlab'; there are local, github"):
        open_home("gitlab", tmp_path, "acme")
