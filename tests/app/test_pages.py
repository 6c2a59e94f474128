"""The console's pages: what each shows, that nothing in them can act, and that outside text stays text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.console_links import own_path, web_link
from app.console_words import ADMISSION_WORDS, OUTCOME_WORDS, STATE_NAMES, next_step, reason_name
from domain.model import Outcome, Reason
from domain.ports import Admission, Landing
from domain.states import State, Trigger
from store.database import Database
from tests.app.consoles import Seen, World, basic, seen
from tests.app.senders import Sender
from tests.app.stories import HOSTILE, Story
from tests.app.web_process import CONSOLE_TOKEN, WebProcess


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


@pytest.fixture
def client(world: World) -> TestClient:
    return world.reader()


EVERY_PAGE = (
    *("/console", "/console/tasks", "/console/tasks/1", "/console/tasks/1/attempts/1"),
    *("/console/repositories", "/console/repositories/local/acme/shop", "/console/spend"),
    *("/console/deliveries", "/console/deliveries/1", "/console/health"),
)


def test_the_real_process_shows_it(web: WebProcess, sender: Sender) -> None:
    headers = list(basic("operator", CONSOLE_TOKEN).items())
    assert sender.get("/console").status == 401
    assert b"<h1>Overview</h1>" in sender.get("/console", headers).body
    assert sender.get("/", headers).headers["Location"] == "/console"
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert sender.get(path, headers).status == 404


# -- that nothing in it can act ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/console", "/console/tasks/1", "/console/tasks/99", "/console/files/console.css"]
)
def test_every_answer_forbids_foreign_scripts_frames_and_caching_of_pages(
    client: TestClient, story: Story, path: str
) -> None:
    story.in_review("x")
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self';")
    assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "form-action 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == ("max-age=300" if path.endswith("css") else "no-store")


def hostile(world: World) -> None:
    """Put an attacker's words wherever text is taken."""
    story = world.story
    story.in_review(HOSTILE, url="javascript:alert(1)")
    attempt = story.queue.attempts(1)[0]
    story.blocked(HOSTILE, Reason.NEEDS_INFORMATION, HOSTILE)
    story.ignored(HOSTILE)
    world.shelf.mkdir()
    action = {"kind": "run", "command": HOSTILE}
    messages = [
        {"role": "system", "content": HOSTILE},
        {"role": "user", "content": [{"text": HOSTILE}], "extra": {"fault": HOSTILE}},
        {"role": "assistant", "content": HOSTILE, "extra": {"actions": [action], "thoughts": HOSTILE}},
        {"role": "tool", "content": HOSTILE, "extra": {"exit_code": 1, "seconds": "x", "kind": HOSTILE}},
        {"role": "exit", "content": HOSTILE},
        {"role": HOSTILE},
    ]
    record = {
        "step": 1,
        "kind": HOSTILE,
        "messages": messages,
        "usage": HOSTILE,
        "cost": HOSTILE,
        "at": HOSTILE,
    }
    lines = [record, {"config": {HOSTILE: {HOSTILE: [HOSTILE]}}}, {"phase": HOSTILE, "at": HOSTILE}]
    (world.shelf / f"attempt-{attempt.id}.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in lines)
    )
    name = HOSTILE.replace("\n", " ")
    patch = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
    patch += f"@@ -1 +1 @@ {HOSTILE}\n-{HOSTILE}\n+{HOSTILE}\n"
    (world.shelf / f"attempt-{attempt.id}.diff").write_text(patch)


def test_hostile_text_is_shown_as_text_on_every_page(world: World) -> None:
    hostile(world)
    client = world.operator()
    for path in (
        *EVERY_PAGE,
        "/console/tasks/2",
        "/console/deliveries/3",
        f"/console/tasks?words={HOSTILE[:20]}",
    ):
        answer = client.get(path)
        assert answer.status_code == 200, path
        shown = Seen(answer.text)
        assert not {"img", "iframe", "object", "style", "base"} & shown.tags, path
        scripts = re.findall(r"<script[^>]*>", answer.text)
        assert all(re.fullmatch(r'<script src="/console/files/[a-z.]+" defer>', each) for each in scripts), (
            path
        )
        assert not [name for name, _ in shown.attributes if name.startswith("on") or name == "style"], path
        assert all(link.startswith(("/console", "#", "?page=")) for link in shown.links()), path
        assert not re.search(r"[\x00-\x08\x1b\u202e]", answer.text), path
    assert '<img src=x onerror="alert(1)">' in seen(client, "/console/tasks/1/attempts/1").text
    assert '<img src=x onerror="alert(1)">' in seen(client, "/console").text


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


@pytest.mark.parametrize(
    "path",
    [
        "//evil.example",
        "https://evil.example",
        "/elsewhere",
        "/console//evil",
        "/console\\evil",
        "/console\n",
        "",
    ],
)
def test_nobody_is_sent_elsewhere_after_a_login(path: str) -> None:
    assert own_path(path) == "/console"
    assert own_path("/console/tasks?page=2") == "/console/tasks?page=2"


@pytest.mark.parametrize("number", ["0", "-1", "x", "1.0", "01", "99999999999999999999", "99", "%00", "1%0a"])
@pytest.mark.parametrize("kind", ["tasks", "deliveries"])
def test_what_is_not_there_is_a_page_that_says_so(client: TestClient, kind: str, number: str) -> None:
    answer = client.get(f"/console/{kind}/{number}")
    assert answer.status_code == 404
    assert "The overview leads to all of them" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/console/tasks/1/attempts/9",
            "/console/tasks/1/attempts/x",
            "/console/repositories/local/no/where",
        ),
        *("/console/nowhere", "/console/receipts/x", "/console/receipts/" + "0" * 64 + ".json"),
    ],
)
def test_other_things_that_are_not_there(client: TestClient, story: Story, path: str) -> None:
    story.in_review("x")
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_page_takes_nothing(client: TestClient, method: str) -> None:
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


def test_empty_pages_say_what_to_do(client: TestClient) -> None:
    text = seen(client, "/console").text
    assert "Put one of the service's labels" in text
    assert "The queue is empty" in text
    assert "No delivery has come. On the forge, add a webhook" in text
    assert "There is no task yet." in seen(client, "/console/tasks").text
    assert "Nothing was spent in these days." in seen(client, "/console/spend").text
    assert "local:acme/shop" in seen(client, "/console/repositories").text
    assert "add a webhook" in seen(client, "/console/deliveries").text


def test_the_overview_has_every_task_in_its_list_with_what_it_waits_for(
    client: TestClient, story: Story
) -> None:
    story.in_review("In review it is")
    story.blocked("Blocked it is", Reason.TASK_LIMIT, "spent $1.00 of $1.00")
    task, attempt = story.running("Running it is")
    story.spend(task, attempt, "0.0042")
    story.phase(attempt, "localize", 1)
    story.labelled("Queued it is")
    shown = seen(client, "/console")
    for words in (
        *("Running it is", "$0.0042", "Queued it is", "In review it is", "spent $1.00 of $1.00"),
        *("/fixwright resume goes on from the saved work", "local:acme/shop $0.0165 of $5.00"),
        "$0.0165 today, of $40.00",
    ):
        assert words in shown.text, words
    assert "https://forge.example/acme/shop/pulls/12" in shown.links()
    rail = client.get("/console").text.partition('<ol class="rail"')[2].partition("</ol>")[0]
    assert re.search(r'class="now" aria-current="step"><span>Agent at work', rail)  # what follows localize


def test_the_phase_of_a_running_task_is_what_its_transcript_says(world: World, story: Story) -> None:
    _, attempt = story.running("x")
    world.shelf.mkdir()
    path = world.shelf / f"attempt-{attempt.id}.jsonl"
    path.write_text('{"phase": "verify", "at": "2026-03-04T12:00:00+00:00"}\n{"phase": "ver')
    assert 'aria-current="step"><span>Verify' in world.reader().get("/console").text


def test_a_list_is_bounded_and_leads_to_pages(client: TestClient, story: Story) -> None:
    for number in range(53):
        story.labelled(f"issue {number}")
    assert "and 41 more" in seen(client, "/console").text
    first = seen(client, "/console/tasks?state=queued")
    assert "53 tasks, page 1 of 2" in first.text and "issue 0" in first.text
    assert "/console/tasks?state=queued&page=2" in first.links()
    second = seen(client, "/console/tasks?state=queued&page=2")
    assert "issue 52" in second.text and "place 53" in second.text
    assert "page 2 of 2" in seen(client, "/console/tasks?page=999").text
    assert "page 1 of 2" in seen(client, "/console/tasks?page=-3").text


def test_tasks_are_found_by_state_words_number_and_repository(client: TestClient, story: Story) -> None:
    story.in_review("Totals are wrong")
    story.labelled("A % of nothing")
    for query, found in (
        ("state=in_review", 1),
        ("state=nonsense", 2),
        ("words=TOTALS", 1),
        ("words=%25", 1),
        ("words=%232", 1),
        ("words=zzz", 0),
        ("repository=LOCAL:acme/shop", 2),
        ("repository=local:acme", 0),
    ):
        assert f"{found} task{'s' if found != 1 else ''}" in seen(client, f"/console/tasks?{query}").text, (
            query
        )


def test_a_task_page_tells_the_whole_story(world: World, client: TestClient, story: Story) -> None:
    story.in_review("The total is wrong")
    world.shelf.mkdir()
    (world.shelf / "attempt-1.diff").write_text(
        "diff --git a/tests/test_total.py b/tests/test_total.py\n--- a/tests/test_total.py\n"
        "+++ b/tests/test_total.py\n@@ -13,2 +13,3 @@\n same\n+assert total([0]) == approx(0)\n same\n"
    )
    shown = seen(client, "/console/tasks/1")
    for words in (
        "local:acme/shop #1",
        "asked for by mia",
        "A maintainer reviews the draft pull request",
        "It is 1 cent too high.",
        "Agent at work 12:00:07 1 min 11 s $0.0123 9 steps",
        "new tests on the old code failed 30 1 2 1.1 s python -m pytest -q tests tree dddddddddddd",
        "Verified. The new test fails without the change",
        "14 + assert total([0]) == approx(0) Warning RH104 A tolerance was widened.",
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
    said, tests = source.index("Says it ran"), source.index("Tests that the harness ran")
    assert source.rindex('class="said"', 0, said) < said < source.index('id="attempts"') < tests
    assert "Says it ran" not in source[tests:]


def test_a_task_without_a_description_or_an_attempt(client: TestClient, story: Story) -> None:
    story.labelled("", "  ")
    text = seen(client, "/console/tasks/1").text
    for words in ("(no title)", "It has no description.", "No attempt yet."):
        assert words in text


def test_a_receipt_is_shown_in_words_and_given_as_its_file(client: TestClient, story: Story) -> None:
    task, attempt = story.running("Totals are wrong")
    receipt = story.receipt(attempt)
    assert receipt.sha256[:16] in client.get(f"/console/tasks/{task.id}").text
    shown = seen(client, f"/console/receipts/{receipt.sha256}")
    assert "pytest -q" in shown.text and receipt.sha256 in shown.text
    assert "Not checked: the service's public key is not in its data directory." in shown.text
    file = client.get(f"/console/receipts/{receipt.sha256}.json")
    assert file.content == receipt.envelope and file.headers["content-type"] == "application/json"


def test_spend_is_summed_by_day_repository_model_and_phase(client: TestClient, story: Story) -> None:
    story.in_review("x")
    shown = seen(client, "/console/spend?days=7")
    assert "$0.0123 from 2026-02-26 to 2026-03-04" in shown.text
    for words in ("local:acme/shop $0.0123 1 1 0", "m $0.0123 1 1 0", "2026-03-04 $0.0123 1 1 0"):
        assert words in shown.text, words
    assert "Agent at work $0.0123 1 1 min 11 s" in shown.text
    assert "svg" in shown.tags and "polyline" in shown.tags
    assert "30 days" in seen(client, "/console/spend?days=5000").text


def test_a_repository_has_its_outcomes_and_the_file_that_was_read_last(
    world: World, client: TestClient, story: Story
) -> None:
    story.in_review("x")
    world.shelf.mkdir()
    config = {"max_cost": "0.80", "test": {"command": "make check", "flaky": []}}
    (world.shelf / "attempt-1.jsonl").write_text(json.dumps({"config": config}) + "\n")
    assert (
        "local:acme/shop 1 1 0 blocked 1 0 0 100 % 1 of 1 $0.0123 –"
        in seen(client, "/console/repositories").text
    )
    text = seen(client, "/console/repositories/local/acme/shop").text
    for words in ("max_cost 0.80", "test.command make check", "test.flaky empty", "$5.00 here"):
        assert words in text, words


def test_deliveries_can_be_chosen_and_one_looked_at(client: TestClient, story: Story) -> None:
    story.labelled("x")
    story.ignored("issues.opened")
    assert "issues.opened" in seen(client, "/console/deliveries?admission=uninteresting").text
    assert "issues.opened" not in seen(client, "/console/deliveries?admission=queued").text
    assert "No delivery is like that." in seen(client, "/console/deliveries?admission=errand").text
    text = seen(client, "/console/deliveries/2").text
    assert "Means nothing here. Well-formed" in text and "delivery-2" in text


def test_older_deliveries_are_on_further_pages(client: TestClient, story: Story) -> None:
    for _ in range(52):
        story.ignored("x")
    first = seen(client, "/console/deliveries")
    (older,) = [link for link in first.links() if "before=" in link]
    assert seen(client, older).text.count("Uninteresting x") == 2


def test_health_says_what_the_web_process_may_know(client: TestClient, story: Story) -> None:
    story.in_review("x")
    text = seen(client, "/console/health").text
    for words in (
        "It listens, with 0 running.",
        "MiB free of",
        "Last model answer By m.",
        "bubblewrap: no network",
    ):
        assert words in text, words


def test_every_state_reason_outcome_and_decision_has_its_words(story: Story) -> None:
    task = story.labelled("x")
    assert set(STATE_NAMES) == set(State)
    assert set(OUTCOME_WORDS) == set(Outcome) and set(ADMISSION_WORDS) == set(Admission)
    for reason in Reason:
        story_task = story.queue.claim("w/1", 60)
        assert story_task is not None
        blocked = story.queue.move(story_task, Trigger.BLOCKED, Landing(reason=reason))
        assert len(next_step(blocked)) > 20
        assert "_" not in reason_name(reason)
        story.queue.move(blocked, Trigger.RESUMED)
    assert next_step(task).startswith("The worker takes it")
