"""Logging in with an account, against a GitHub on loopback: who gets in, what they see, what is refused."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.console_oauth import FLOW_SECONDS, GithubLogin, LoginRefused
from app.console_sessions import COOKIE
from app.demo.github.accounts import CLIENT_ID
from app.demo.github.making import CLIENT_SECRET
from app.demo.github.server import GithubServer
from app.demo.github.state import GithubState
from domain.events import CommandGiven
from domain.model import Actor, Permission, Reason
from store.database import Database
from tests.app.consoles import TOKEN, World, seen, stamp
from tests.app.stories import Story
from tests.providers.github.contract import judge


class Hours:
    """A clock that tests move, in seconds."""

    passed = 0.0

    def now(self) -> float:
        return self.passed


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GithubServer]:
    server = GithubServer(GithubState(tmp_path / "github"), judge)
    local = server.state.local
    local.create_repository("acme/other", files=None)
    local.create_repository("acme/shop", files=None)
    yield server
    server.close()
    assert list(server.state.broken) == []


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
def login(github: GithubServer, hours: Hours) -> GithubLogin:
    return GithubLogin(
        api_url=github.url,
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        repositories=frozenset({"github:acme/shop", "github:acme/gone", "local:acme/other"}),
        now=hours.now,
    )


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "console.sqlite3") as database:
        yield database


@pytest.fixture
def world(database: Database, login: GithubLogin) -> World:
    return World(database, Story(database), github=login)


def person(github: GithubServer, name: str, permission: Permission | None) -> Actor:
    """Sit somebody before the browser who may do so much on acme/shop."""
    local = github.state.local
    actor = local.create_user(name)
    shop = next(each for each in local.repositories() if each.full_name == "acme/shop")
    if permission is not None:
        local.grant(shop.id, actor, permission)
    github.state.accounts.who = actor
    return actor


def go(address: str) -> tuple[str, str]:
    """Go to GitHub's page as a browser does; returns (path, query) of where it leads."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    assert answer.status == 302
    back = urlsplit(answer.headers["location"])
    connection.close()
    return back.path, back.query


def through(client: TestClient, back: str = "/console") -> tuple[int, str]:
    """Log in; returns the last answer's status and text."""
    begun = client.post("/console/login/github", data={"back": back})
    assert begun.status_code == 303
    path, query = go(begun.headers["location"])
    answer = client.get(f"{path}?{query}")
    return answer.status_code, answer.headers.get("location", answer.text)


@pytest.mark.parametrize(
    ("permission", "gets_in"),
    [
        (None, False),
        (Permission.READ, False),
        (Permission.TRIAGE, False),
        (Permission.WRITE, True),
        (Permission.ADMIN, True),
    ],
)
def test_only_who_may_write_gets_in(
    world: World, github: GithubServer, permission: Permission | None, gets_in: bool
) -> None:
    person(github, "mia", permission)
    client = world.client()
    status, where = through(client, "/console/spend")
    assert (status, where == "/console/spend") == ((303, True) if gets_in else (403, False))
    assert client.get("/console").status_code == (200 if gets_in else 401)
    if not gets_in:
        assert "may write to none of the repositories" in where
    accounts = github.state.accounts
    assert not accounts.tokens and len(accounts.returned) == 1, "the token is given back, whatever came of it"


def test_an_account_sees_its_own_repositories_and_its_word_is_its_own(
    world: World, github: GithubServer
) -> None:
    mia = person(github, "mia", Permission.WRITE)
    shop = next(each for each in github.state.local.repositories() if each.full_name == "acme/shop")
    story = world.story
    story.forge = "github"
    story.labelled("Mine to see", place=shop.id)
    story.labelled("A secret of others", repository="acme/other", place="999")
    client = world.client()
    through(client)
    for path in (
        "/console",
        "/console/tasks",
        "/console/deliveries",
        "/console/repositories",
        "/console/spend",
    ):
        page = seen(client, path).text
        assert "A secret of others" not in page and "acme/other" not in page, path
    assert "Mine to see" in seen(client, "/console").text
    assert client.get("/console/tasks/1").status_code == 200
    for path in (
        *("/console/tasks/2", "/console/tasks/2/attempts/1", "/console/tasks/2/live"),
        *("/console/deliveries/2", "/console/repositories/github/acme/other"),
    ):
        assert client.get(path).status_code == 404, path
    form = {"stamp": stamp(client)}
    assert client.post("/console/tasks/2/cancel", data=form).status_code == 404
    assert client.post("/console/deliveries/1/replay", data=form).status_code == 422
    assert world.told == []
    assert client.post("/console/tasks/1/cancel", data=form).status_code == 303
    (signal,) = story.queue.signals()
    assert isinstance(signal.event, CommandGiven)
    assert signal.event.actor == mia and not signal.by_operator, "the worker asks the forge what they may do"
    assert "Only the operator sees bodies." in seen(client, "/console/deliveries/1").text


def test_receipts_of_others_are_not_there(world: World, github: GithubServer) -> None:
    person(github, "mia", Permission.WRITE)
    _, attempt = world.story.running("others'")
    receipt = world.story.receipt(attempt)
    client = world.client()
    through(client)
    assert client.get(f"/console/receipts/{receipt.sha256}").status_code == 404
    assert client.get(f"/console/receipts/{receipt.sha256}.json").status_code == 404
    assert world.operator().get(f"/console/receipts/{receipt.sha256}").status_code == 200


def test_a_login_ends_only_in_the_browser_that_began_it_and_once(world: World, github: GithubServer) -> None:
    person(github, "mia", Permission.WRITE)
    mine, theirs = world.client(), world.client()
    begun = mine.post("/console/login/github", data={"back": ""})
    assert "SameSite=Lax" in begun.headers["set-cookie"] and "HttpOnly" in begun.headers["set-cookie"]
    path, query = go(begun.headers["location"])
    assert theirs.get(f"{path}?{query}").status_code == 403, "an attacker's login is not taken for one's own"
    assert mine.get(f"{path}?{query}").status_code == 403, "and a state is used up by a wrong try"
    assert through(mine)[0] == 303
    assert not github.state.accounts.tokens


@pytest.mark.parametrize("query", ["", "state=x&code=y", "state=&code=", "code=1", "state=\ud800&code=1"])
def test_an_answer_that_nobody_asked_for_opens_nothing(world: World, query: str) -> None:
    answer = world.client().get("/console/login/github/callback?" + query.encode("utf-8", "replace").decode())
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_who_does_not_agree_on_githubs_page_is_told_so(world: World, github: GithubServer) -> None:
    status, text = through(world.client())
    assert status == 403 and "not allowed there" in text


def test_a_login_that_takes_too_long_is_over(login: GithubLogin, github: GithubServer, hours: Hours) -> None:
    person(github, "mia", Permission.WRITE)
    begun = login.begin("http://here/console/login/github/callback", "/console")
    back = parse_qs(go(begun.address)[1])
    hours.passed = FLOW_SECONDS + 1
    with pytest.raises(LoginRefused, match="ten minutes"):
        login.finish(begun.browser, back["state"][0], back["code"][0])


def test_logins_begun_without_end_take_nobody_elses_away(login: GithubLogin, github: GithubServer) -> None:
    callback = "http://here/console/login/github/callback"
    person(github, "mia", Permission.WRITE)
    begun = login.begin(callback, "/console/tasks")
    for _ in range(300):
        login.begin(callback, "/console")
    back = parse_qs(go(begun.address)[1])
    _, page = login.finish(begun.browser, back["state"][0], back["code"][0])
    assert page == "/console/tasks"


@pytest.mark.parametrize("changed", ["", ".", "W10.", "{state}x", "x{state}", "{said}.", "{said}.\ud800"])
def test_a_state_that_was_changed_opens_nothing(login: GithubLogin, changed: str) -> None:
    begun = login.begin("http://here/console/login/github/callback", "/console")
    state = parse_qs(urlsplit(begun.address).query)["state"][0]
    with pytest.raises(LoginRefused):
        login.finish(begun.browser, changed.format(state=state, said=state.partition(".")[0]), "code")


def test_a_code_that_was_stolen_is_worth_nothing_without_the_verifier(
    login: GithubLogin, github: GithubServer
) -> None:
    person(github, "mia", Permission.WRITE)
    theirs = login.begin("http://here/console/login/github/callback", "/console")
    stolen = parse_qs(go(theirs.address)[1])["code"][0]
    mine = login.begin("http://here/console/login/github/callback", "/console")
    state = parse_qs(urlsplit(mine.address).query)["state"][0]
    with pytest.raises(LoginRefused, match="bad_verification_code"):
        login.finish(mine.browser, state, stolen)


def test_a_github_that_is_away_is_said_to_be(world: World, github: GithubServer) -> None:
    person(github, "mia", Permission.WRITE)
    client = world.client()
    begun = client.post("/console/login/github", data={"back": ""})
    path, query = go(begun.headers["location"])
    github.close()
    answer = client.get(f"{path}?{query}")
    assert answer.status_code == 502 and "does not answer now" in answer.text


def test_logging_in_as_the_operator_after_that_is_a_new_session(world: World, github: GithubServer) -> None:
    person(github, "mia", Permission.WRITE)
    client = world.client()
    through(client)
    before = client.cookies[COOKIE]
    client.post("/console/login", data={"password": TOKEN, "back": ""})
    assert client.cookies[COOKIE] != before
    assert world.client(Cookie=f"{COOKIE}={before}").get("/console").status_code == 401
    world.story.blocked("x", Reason.CONFIG)
    assert client.get("/console/tasks/1").status_code == 200
