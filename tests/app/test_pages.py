"""The console: who may see it, what it shows, and that nothing in it can act."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.console_view import Reading, web_link
from app.console_words import STATE_NAMES, next_step, reason_name
from app.pages import console_router
from domain.model import Reason
from domain.ports import Landing
from domain.states import State, Trigger
from store.database import Database
from store.history import History
from tests.app.senders import Sender
from tests.app.stories import HOSTILE, Story
from tests.app.web_process import CONSOLE_TOKEN, WebProcess, running_web_process

TOKEN = "a-long-console-token"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "console.sqlite3") as database:
        yield database


@pytest.fixture
def story(database: Database) -> Story:
    return Story(database)


@pytest.fixture
def client(database: Database, story: Story) -> TestClient:
    reading = Reading(
        queue=story.queue,
        ledger=story.ledger,
        history=History(database),
        clock=story.clock,
        receipts=story.receipts,
        daily_cap=Decimal("5.00"),
        service_cap=Decimal("40.00"),
    )
    app = FastAPI()
    app.include_router(console_router(reading, TOKEN))
    return TestClient(app, headers=_basic("operator", TOKEN), follow_redirects=False)


def _basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


class _Page(HTMLParser):
    """What a page consists of: its text, its tags, its links, its ids."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(source)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def links(self) -> list[str]:
        return [value for name, value in self.attributes if name == "href"]


def page(client: TestClient, path: str) -> _Page:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return _Page(answer.text)


# -- who may see it ---------------------------------------------------------------------------------

PATHS = ["/", "/console", "/console/tasks/1", "/console/tasks/x", "/console/console.css"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        _basic("operator", "wrong"),
        _basic("operator", ""),
        _basic("root", TOKEN),
        _basic("operator", TOKEN + "x"),
        {"Authorization": "Basic"},
        {"Authorization": "Basic ???"},
        {"Authorization": b"Basic \xe9".decode("latin-1")},
        {"Authorization": f"Bearer {TOKEN}"},
    ],
)
def test_nothing_is_shown_without_the_password(
    client: TestClient, path: str, headers: dict[str, str]
) -> None:
    client.headers.clear()
    answer = client.get(path, headers={name: value.encode("latin-1") for name, value in headers.items()})  # type: ignore[arg-type, misc]
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith('Basic realm="Fixwright"')
    assert "FIXWRIGHT_CONSOLE_TOKEN" in answer.text and "Overview</h1>" not in answer.text


def test_a_receipt_is_shown_in_words_and_given_as_its_file(client: TestClient, story: Story) -> None:
    task, attempt = story.running("Totals are wrong")
    receipt = story.receipt(attempt)

    assert receipt.sha256[:16] in client.get(f"/console/tasks/{task.id}").text
    page = _Page(client.get(f"/console/receipts/{receipt.sha256}").text)
    assert "pytest -q" in page.text and receipt.sha256 in page.text
    file = client.get(f"/console/receipts/{receipt.sha256}.json")
    assert file.content == receipt.envelope and file.headers["content-type"] == "application/json"


@pytest.mark.parametrize("name", ["0" * 64, "0" * 64 + ".json", "x", "%2e%2e"])
def test_a_receipt_that_is_not_there_is_said_to_be_missing(client: TestClient, name: str) -> None:
    answer = client.get(f"/console/receipts/{name}")

    assert answer.status_code == 404


@pytest.mark.long
def test_without_a_token_there_is_no_console(tmp_path: Path) -> None:
    with running_web_process(tmp_path, FIXWRIGHT_CONSOLE_TOKEN="") as web:
        sender = Sender(web.port, b"")
        for path in PATHS:
            assert sender.get(path, list(_basic("operator", "").items())).status == 404
    with pytest.raises(ValueError, match="password"):
        console_router(None, "")  # type: ignore[arg-type]


def test_the_real_process_shows_it(web: WebProcess, sender: Sender) -> None:
    headers = list(_basic("operator", CONSOLE_TOKEN).items())
    assert sender.get("/console").status == 401
    assert b"<h1>Overview</h1>" in sender.get("/console", headers).body
    assert sender.get("/", headers).headers["Location"] == "/console"
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert sender.get(path, headers).status == 404


# -- that nothing in it can act ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/console", "/console/tasks/1", "/console/tasks/99", "/console/console.css"]
)
def test_every_answer_forbids_scripts_frames_and_caching_of_pages(
    client: TestClient, story: Story, path: str
) -> None:
    story.in_review("x")
    headers = client.get(path).headers
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == ("max-age=300" if path.endswith("css") else "no-store")


def test_hostile_text_is_shown_as_text(client: TestClient, story: Story) -> None:
    story.in_review(HOSTILE, url="javascript:alert(1)")
    story.blocked(HOSTILE, Reason.NEEDS_INFORMATION, HOSTILE)
    story.ignored(HOSTILE)
    for path in ("/console", "/console/tasks/1", "/console/tasks/2"):
        shown = page(client, path)
        assert '<img src=x onerror="alert(1)">' in shown.text
        assert not {"img", "script", "iframe", "object", "form", "svg"} & shown.tags
        assert not [name for name, _ in shown.attributes if name.startswith("on") or name == "style"]
        assert all(link.startswith(("/console", "#content")) for link in shown.links())
        assert not re.search(r"[\x00-\x08\x1b\u202e]", client.get(path).text)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://forge.example/pulls/1", True),
        ("http://127.0.0.1:3000/x", True),
        ("javascript:alert(1)", False),
        ("JavaScript:alert(1)", False),
        ("data:text/html,x", False),
        ("//evil.example", False),
        ("https:", False),
        ("http://[", False),
        ("local://acme/shop/pulls/1", False),
        ("", False),
    ],
)
def test_links_lead_to_web_pages_only(address: str, allowed: bool) -> None:
    assert web_link(address) == (address if allowed else "")


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.0", "01", "99999999999999999999", "99", "%00", "1%0a"])
def test_a_task_that_is_not_there_is_a_page_that_says_so(client: TestClient, number: str) -> None:
    answer = client.get(f"/console/tasks/{number}")
    assert answer.status_code == 404
    assert "There is no task of this number" in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_console_changes_nothing(client: TestClient, method: str) -> None:
    assert client.request(method, "/console").status_code == 405


def test_a_database_that_cannot_be_read_is_a_page_that_says_so(
    client: TestClient, story: Story, database: Database
) -> None:
    story.labelled("x")
    assert isinstance(database.path, Path)
    for connection in database._idle:
        connection.close()
    database._idle.clear()
    moved = database.path.rename(database.path.with_name("elsewhere"))
    database.path.mkdir()
    answer = client.get("/console")
    assert answer.status_code == 503
    assert "Reload in a moment" in answer.text
    assert moved.exists()


# -- what it shows ----------------------------------------------------------------------------------


def test_empty_lists_say_what_to_do(client: TestClient, story: Story) -> None:
    text = page(client, "/console").text
    assert "Put one of the service's labels" in text
    assert "The queue is empty" in text
    assert "No delivery has come. On the forge, add a webhook" in text
    assert "FIXWRIGHT_REPOSITORIES=" in text


def test_the_overview_has_every_task_in_its_list_with_what_it_waits_for(
    client: TestClient, story: Story
) -> None:
    story.in_review("In review it is")
    story.blocked("Blocked it is", Reason.TASK_LIMIT, "spent $1.00 of $1.00")
    task, attempt = story.running("Running it is")
    story.spend(task, attempt, "0.0042")
    story.phase(attempt, "localize", 1)
    story.labelled("Queued it is")
    shown = page(client, "/console")
    assert "Running it is" in shown.text
    assert "after: localize" in shown.text
    assert "$0.0042" in shown.text
    assert "/fixwright resume goes on from the saved work" in shown.text
    assert "spent $1.00 of $1.00" in shown.text
    assert "https://forge.example/acme/shop/pulls/12" in shown.links()
    assert "local:acme/shop $0.0165 of $5.00" in shown.text
    assert "all repositories $0.0165 of $40.00" in shown.text
    assert "Spent on 2026-03-04" in shown.text


def test_a_list_is_bounded_and_counts_the_rest(client: TestClient, story: Story) -> None:
    for number in range(53):
        story.labelled(f"issue {number}")
    assert "and 3 more" in page(client, "/console").text


def test_a_task_page_tells_the_whole_story(client: TestClient, story: Story) -> None:
    story.in_review("The total is wrong")
    shown = page(client, "/console/tasks/1")
    for words in (
        "local:acme/shop #1",
        "asked for by mia",
        "A maintainer reviews the draft pull request",
        "It is 1 cent too high.",
        "agent 2026-03-04 12:00:07 UTC 1 min 11 s $0.0123 9 steps",
        "new tests on the old code failed 30 1 2 1.1 s python -m pytest -q tests on dddddddddddd",
        "Verified: The new test fails without the change",
        "RH104 tests/test_total.py:14",
        "Said by the model, not checked",
        "The rounding adds a cent before the check for zero.",
        "Says it did not test Other currencies.",
        "Isolation: bubblewrap: no network",
        "draft pull request #12 · branch fixwright/issue-1 · commit cccccccccccc",
        "admitted → Queued",
        "claimed → Running",
        "published → In review",
    ):
        assert words in shown.text, words
    assert "https://forge.example/acme/shop/pulls/12" in shown.links()


def test_the_models_words_are_never_among_the_tests(client: TestClient, story: Story) -> None:
    story.in_review("x")
    source = client.get("/console/tasks/1").text
    tests, _, rest = source.partition("Tests that the harness ran")[2].partition('class="model"')
    assert "Says it ran" not in tests
    assert "Says it ran" in rest


def test_a_task_without_a_description_or_an_attempt(client: TestClient, story: Story) -> None:
    story.labelled("", "  ")
    text = page(client, "/console/tasks/1").text
    assert "(no title)" in text
    assert "It has no description." in text
    assert "No attempt yet." in text


def test_why_a_delivery_led_to_nothing_can_be_seen(client: TestClient, story: Story) -> None:
    story.ignored("issues.opened")
    assert "Uninteresting: issues.opened uninteresting" in page(client, "/console").text


def test_every_state_and_reason_has_its_words(story: Story) -> None:
    task = story.labelled("x")
    assert set(STATE_NAMES) == set(State)
    for reason in Reason:
        story_task = story.queue.claim("w/1", 60)
        assert story_task is not None
        blocked = story.queue.move(story_task, Trigger.BLOCKED, Landing(reason=reason))
        assert len(next_step(blocked)) > 20
        assert "_" not in reason_name(reason)
        story.queue.move(blocked, Trigger.RESUMED)
    assert next_step(task).startswith("The worker takes it")


def test_a_task_that_waits_for_tomorrow_says_until_when(client: TestClient, story: Story) -> None:
    task, _ = story.running("x")
    tomorrow = story.clock.now().replace(day=5, hour=0, minute=0, second=0)
    story.queue.move(task, Trigger.RELEASED, Landing(not_before=tomorrow))
    assert "It waits until 2026-03-05 00:00 UTC." in page(client, "/console").text


# -- accessibility ----------------------------------------------------------------------------------


def test_pages_have_language_title_one_heading_and_a_way_past_the_header(
    client: TestClient, story: Story
) -> None:
    story.in_review("The total is wrong")
    for path in ("/console", "/console/tasks/1"):
        source = client.get(path).text
        assert '<html lang="en">' in source
        assert source.count("<h1>") == 1
        assert 'href="#content"' in source
        identities = re.findall(r' id="([^"]+)"', source)
        assert len(identities) == len(set(identities))
        for label in re.findall(r'aria-labelledby="([^"]+)"', source):
            assert label in identities


def _luminance(color: str) -> float:
    def linear(part: str) -> float:
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(color[index : index + 2]) for index in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("ink", "ground"),
        ("ink", "raised"),
        ("soft", "ground"),
        ("soft", "raised"),
        ("link", "ground"),
        ("link", "raised"),
        ("calm-ink", "calm"),
        ("good-ink", "good"),
        ("warn-ink", "warn"),
        ("bad-ink", "bad"),
    ],
)
def test_colours_have_the_contrast_that_wcag_aa_asks_for(scheme: str, ink: str, ground: str) -> None:
    style = (Path(__file__).parents[2] / "app" / "static" / "console.css").read_text()
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light if scheme == "light" else dark))
    brighter, darker = sorted((_luminance(colors[ink]), _luminance(colors[ground])), reverse=True)
    assert (brighter + 0.05) / (darker + 0.05) >= 4.5
