"""Who may come in: the password, sessions, forms that are ours and forms that are not, guesses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.console_sessions import COOKIE, IDLE, LIFETIME, TRIES
from app.pages import ConsoleSite, console_router
from domain.events import CommandGiven, Verb
from domain.model import Reason
from domain.states import State
from store.database import Database
from tests.app.consoles import TOKEN, World, basic, stamp
from tests.app.senders import Sender
from tests.app.stories import Story
from tests.app.web_process import running_web_process


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "console.sqlite3") as database:
        yield database


@pytest.fixture
def story(database: Database) -> Story:
    return Story(database)


@pytest.fixture
def world(database: Database, story: Story) -> World:
    return World(database, story)


PATHS = (
    *("/console", "/console/tasks/1", "/console/tasks/x", "/console/receipts/x", "/console/nowhere"),
    *("/console/deliveries/1", "/console/spend", "/console/health", "/console/tasks/1/live"),
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic("operator", "wrong"),
        basic("operator", ""),
        basic("root", TOKEN),
        basic("operator", TOKEN + "x"),
        {"Authorization": "Basic"},
        {"Authorization": "Basic ???"},
        {"Authorization": b"Basic \xe9".decode("latin-1")},
        {"Authorization": f"Bearer {TOKEN}"},
        {"Cookie": f"{COOKIE}=x"},
        {"Cookie": f"{COOKIE}=x.{'0' * 64}"},
        {"Cookie": f"{COOKIE}={TOKEN}"},
        {"Cookie": 'fixwright_session="; \\'},
    ],
)
def test_nothing_is_shown_to_who_is_not_known(world: World, path: str, headers: dict[str, str]) -> None:
    world.story.in_review("A secret title")
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = world.client().get(path, headers=raw)  # type: ignore[arg-type]
    assert answer.status_code == 401
    assert "A secret title" not in answer.text and "Overview</h1>" not in answer.text
    if not path.endswith("live"):
        assert "FIXWRIGHT_CONSOLE_TOKEN" in answer.text


@pytest.mark.long
def test_without_anybody_who_could_log_in_there_is_no_console(tmp_path: Path) -> None:
    with running_web_process(tmp_path, FIXWRIGHT_CONSOLE_TOKEN="") as web:
        sender = Sender(web.port, b"")
        for path in PATHS:
            assert sender.get(path, list(basic("operator", "").items())).status == 404


def test_a_site_without_a_password_and_accounts_is_refused(world: World) -> None:
    site = world.site
    with pytest.raises(ValueError, match="password"):
        console_router(
            ConsoleSite(reading=site.reading, token="", tell=site.tell, is_worker_heard=site.is_worker_heard)
        )


def test_the_password_opens_a_session_and_leads_where_one_wanted_to_go(world: World) -> None:
    client = world.client()
    answer = client.post("/console/login", data={"password": TOKEN, "back": "/console/spend"})
    assert answer.status_code == 303 and answer.headers["location"] == "/console/spend"
    line = answer.headers["set-cookie"]
    assert "HttpOnly" in line and "SameSite=Lax" in line and "Path=/" in line and "Secure" not in line
    assert client.get("/console/spend").status_code == 200
    assert client.get("/console/login").status_code == 303


def test_the_cookie_is_secure_where_people_come_by_https(database: Database, story: Story) -> None:
    world = World(database, story, public_url="https://fix.example")
    client = world.client(Host="fix.example", Origin="https://fix.example")
    line = client.post("/console/login", data={"password": TOKEN, "back": ""}).headers["set-cookie"]
    assert line.endswith("; Secure")


def test_a_new_login_has_a_new_session_and_ends_the_old_one(world: World) -> None:
    client = world.operator()
    before = client.cookies[COOKIE]
    client.post("/console/login", data={"password": TOKEN, "back": ""})
    assert client.cookies[COOKIE] != before
    assert world.client(Cookie=f"{COOKIE}={before}").get("/console").status_code == 401


def test_a_session_ends_when_it_is_left_idle_or_old_or_logged_out(world: World) -> None:
    for wait, is_over in ((IDLE - timedelta(minutes=1), False), (IDLE, True)):
        client = world.operator()
        world.story.clock.moment += wait
        assert (client.get("/console").status_code == 401) is is_over
    client = world.operator()
    for _ in range(int(LIFETIME / (IDLE / 2))):
        last = client.get("/console").status_code
        world.story.clock.moment += IDLE / 2
    assert last == 200 and client.get("/console").status_code == 401
    client = world.operator()
    kept = client.cookies[COOKIE]
    assert client.post("/console/logout", data={"stamp": stamp(client)}).status_code == 303
    assert world.client(Cookie=f"{COOKIE}={kept}").get("/console").status_code == 401


@pytest.mark.parametrize("end", ["", "0", "x" * 64])
def test_a_cookie_with_another_signature_opens_nothing(world: World, end: str) -> None:
    cookie = world.operator().cookies[COOKIE]
    forged = cookie[: -len(end)] + end if end else cookie.partition(".")[0]
    if forged == cookie:
        forged = cookie[:-1] + "1"
    assert world.client(Cookie=f"{COOKIE}={forged}").get("/console").status_code == 401


@pytest.mark.long
def test_wrong_passwords_are_told_so_and_then_to_wait(world: World) -> None:
    client = world.client()
    statuses = [
        client.post("/console/login", data={"password": f"wrong {number}"}).status_code
        for number in range(TRIES)
    ]
    assert statuses == [403] * TRIES
    answer = client.post("/console/login", data={"password": "wrong again"})
    assert answer.status_code == 429 and answer.headers["Retry-After"] == "60"
    assert client.get("/console", headers=basic("operator", TOKEN)).status_code == 401
    right = client.post("/console/login", data={"password": TOKEN, "back": ""})
    assert right.status_code == 303, "who guesses does not keep the operator out"


# -- forms ------------------------------------------------------------------------------------------

ACTS = ("cancel", "retry", "approve", "budget")


@pytest.mark.parametrize("act", ACTS)
def test_a_button_needs_a_session_and_not_just_the_password(world: World, act: str) -> None:
    world.story.labelled("x")
    for client in (world.client(), world.reader()):
        answer = client.post(f"/console/tasks/1/{act}", data={"stamp": "", "amount": "1", "name": "d" * 40})
        assert answer.status_code == 401
    assert world.told == []


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({}, ""),
        ({}, "0" * 64),
        ({"Origin": "https://evil.example"}, "right"),
        ({"Origin": "null"}, "right"),
        ({"Origin": "http://testserver.evil.example"}, "right"),
        ({"Sec-Fetch-Site": "cross-site"}, "right"),
        ({"Sec-Fetch-Site": "same-site"}, "right"),
        ({"Content-Type": "text/plain"}, "right"),
    ],
)
def test_a_form_of_another_site_or_session_does_nothing(
    world: World, headers: dict[str, str], field: str
) -> None:
    world.story.labelled("x")
    client = world.operator()
    form = {"stamp": stamp(client) if field == "right" else field}
    answer = client.post("/console/tasks/1/cancel", data=form, headers=headers)
    assert answer.status_code == 403
    assert world.told == []


def test_the_stamp_of_another_session_does_nothing(world: World) -> None:
    world.story.labelled("x")
    mine, theirs = world.operator(), world.operator()
    assert mine.post("/console/tasks/1/cancel", data={"stamp": stamp(theirs)}).status_code == 403
    assert mine.post("/console/logout", data={"stamp": stamp(theirs)}).status_code == 403
    assert world.told == []


def test_a_login_form_of_another_site_is_not_taken(world: World) -> None:
    answer = world.client(Origin="https://evil.example").post("/console/login", data={"password": TOKEN})
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


@pytest.mark.parametrize("size", [9000, 10**6])
def test_a_form_that_is_too_long_is_refused(world: World, size: int) -> None:
    client = world.operator()
    answer = client.post("/console/theme", data={"stamp": stamp(client), "theme": "x" * size})
    assert answer.status_code == 400


# -- buttons ----------------------------------------------------------------------------------------


def press(client: TestClient, act: str, number: int = 1, **fields: str) -> int:
    form = {"stamp": stamp(client), **fields}
    return client.post(f"/console/tasks/{number}/{act}", data=form).status_code


@pytest.mark.parametrize(
    ("act", "fields", "verb", "text"),
    [
        ("cancel", {}, Verb.CANCEL, "/fixwright cancel"),
        ("retry", {}, Verb.RETRY, "/fixwright retry"),
        ("approve", {"name": "d" * 40}, Verb.APPROVE, f"/fixwright approve {'d' * 40}"),
        ("budget", {"amount": " $3,50 "}, Verb.BUDGET, "/fixwright budget 3.50"),
    ],
)
def test_a_button_is_a_command_of_the_operators(
    world: World, act: str, fields: dict[str, str], verb: Verb, text: str
) -> None:
    task = world.story.labelled("x")
    client = world.operator()
    assert press(client, act, **fields) == 303
    (signal,) = world.story.queue.signals()
    assert isinstance(signal.event, CommandGiven) and signal.by_operator
    assert (signal.event.verb, signal.event.text, signal.event.issue) == (verb, text, task.issue)
    assert signal.event.actor.login == "operator"
    page = client.get(f"/console/tasks/1?done={act}").text
    assert "waits for the worker" in page and 'role="status"' in page


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        ("budget", {"amount": "1e9"}),
        ("budget", {"amount": "-1"}),
        ("budget", {"amount": "3\n/fixwright cancel"}),
        ("budget", {}),
        ("approve", {"name": "d" * 40 + " x"}),
        ("approve", {"name": ""}),
        ("delete", {}),
        ("live", {}),
    ],
)
def test_what_is_no_command_is_not_told(world: World, act: str, fields: dict[str, str]) -> None:
    world.story.labelled("x")
    assert press(world.operator(), act, **fields) == 422
    assert world.told == []


def test_a_task_that_is_not_there_takes_no_button(world: World) -> None:
    assert press(world.operator(), "cancel", 7) == 404


def test_only_buttons_that_make_sense_are_there(world: World) -> None:
    story = world.story
    story.blocked("blocked", Reason.TASK_LIMIT)
    story.running("running")
    client = world.operator()
    blocked, running = client.get("/console/tasks/1").text, client.get("/console/tasks/2").text
    assert "Another attempt" in blocked and "Cancel the task" in blocked and "Approve" not in blocked
    assert "Another attempt" not in running and "Cancel the task" in running
    assert story.queue.task(2).state is State.RUNNING
    assert "Cancel the task" not in world.reader().get("/console/tasks/1").text, "no session, no button"


def test_a_delivery_can_be_replayed(world: World) -> None:
    world.story.labelled("x")
    client = world.operator()
    assert "Replay it" in client.get("/console/deliveries/1").text
    answer = client.post("/console/deliveries/1/replay", data={"stamp": stamp(client)})
    assert answer.status_code == 303 and world.replayed == [1]
    assert client.post("/console/deliveries/1/replay", data={}).status_code == 403
    gone = client.post("/console/deliveries/2/replay", data={"stamp": stamp(client)})
    assert gone.status_code == 422 and "The body of delivery 2 is not kept any more." in gone.text


def test_the_theme_is_kept_without_a_script(world: World) -> None:
    client = world.operator()
    answer = client.post(
        "/console/theme", data={"stamp": stamp(client), "theme": "dark", "back": "/console/spend"}
    )
    assert answer.headers["location"] == "/console/spend"
    assert '<html lang="en" data-theme="dark">' in client.get("/console").text
    client.post("/console/theme", data={"stamp": stamp(client), "theme": '"><script>', "back": ""})
    assert '<html lang="en">' in client.get("/console").text
