"""Reading runs: a list in pages, one with its attempts, its stream, and errors with a way out."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Reason
from domain.ports import Landing
from domain.states import Trigger
from store.database import Database
from tests.app.api.world import SECRET, ApiWorld
from tests.app.stories import Story
from tests.app.web_process import CONSOLE_TOKEN, UNSET, WebProcess, running_web_process


def test_runs_come_in_pages_newest_first(world: ApiWorld) -> None:
    ids = [world.story.labelled(f"Issue {number}").id for number in range(5)]
    client = world.client()
    first = client.get("/runs", params={"limit": 2}).json()
    assert [run["id"] for run in first["runs"]] == [ids[4], ids[3]]
    second = client.get("/runs", params={"limit": 2, "before": first["next_before"]}).json()
    assert [run["id"] for run in second["runs"]] == [ids[2], ids[1]]
    last = client.get("/runs", params={"limit": 2, "before": second["next_before"]}).json()
    assert ([run["id"] for run in last["runs"]], last["next_before"]) == ([ids[0]], None)


def test_runs_are_chosen_by_state_and_repository(world: ApiWorld) -> None:
    blocked = world.story.blocked("One", Reason.GUARD)
    other = world.story.labelled("Two", repository="Acme/Web")
    client = world.client()

    def found(**wanted: str) -> list[int]:
        return [run["id"] for run in client.get("/runs", params=wanted).json()["runs"]]

    assert found(state="blocked") == [blocked.id]
    assert found(repository="acme/web") == found(repository="local:ACME/web") == [other.id]
    assert found(repository="acme/w%") == []
    assert client.get("/runs", params={"state": "sleeping"}).json()["name"] == "invalid_request"


def test_a_run_tells_its_attempts_money_and_pull_requests(world: ApiWorld) -> None:
    task = world.story.in_review("The total is wrong")
    run = world.client().get(f"/runs/{task.id}").json()
    assert (run["state"], run["repository"], run["issue"]) == ("in_review", "acme/shop", task.issue.number)
    assert run["spent_usd"] == "0.012300000"
    assert run["pulls"] == [{"number": 12, "url": "https://forge.example/acme/shop/pulls/12"}]
    assert run["page"] == f"https://fixwright.example/console/tasks/{task.id}"
    (attempt,) = run["attempt_list"]
    assert (attempt["outcome"], attempt["verdict"]["verified"]) == ("verified", True)


def test_a_forges_address_that_is_none_is_left_out(world: ApiWorld) -> None:
    task = world.story.in_review("The total is wrong", url="javascript:alert(1)")
    assert world.client().get(f"/runs/{task.id}").json()["pulls"] == [{"number": 12, "url": ""}]


def test_a_secret_of_this_process_is_not_shown(world: ApiWorld) -> None:
    task, _ = world.story.running(f"Why is {SECRET} in the log?")
    world.story.queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.CONFIG, detail=SECRET))
    assert SECRET not in world.client().get(f"/runs/{task.id}").text


def test_errors_have_a_name_what_is_wrong_and_a_way_out(world: ApiWorld) -> None:
    client = world.client()
    for path, status, name in (
        ("/runs/99", 404, "no_such_run"),
        ("/runs/99/stream", 404, "no_such_run"),
        ("/runs/0", 422, "invalid_request"),
        ("/runs/x", 422, "invalid_request"),
        ("/runs/99999999999999999999999", 422, "invalid_request"),
        ("/runs?limit=1000", 422, "invalid_request"),
        ("/nothing", 404, "not_found"),
    ):
        answer = client.get(path)
        assert answer.headers["content-type"] == "application/problem+json", path
        assert (answer.status_code, answer.json()["name"]) == (status, name), path
        assert answer.json()["problem"] and answer.json()["way_out"]
    assert client.delete("/runs").status_code == 405


def test_health_tells_whether_anybody_works(world: ApiWorld) -> None:
    world.story.labelled("One")
    health = world.client().get("/health").json()
    assert (health["status"], health["takes_deliveries"], health["worker_listens"]) == (
        "degraded",
        True,
        False,
    )
    assert (health["queued"], health["running"]) == (1, 0)
    assert health["oldest_queued_seconds"] > 0


def test_a_run_that_is_over_is_streamed_whole_and_then_there_is_nothing(world: ApiWorld) -> None:
    task = world.story.in_review("The total is wrong")
    world.story.queue.move(task, Trigger.MERGED)
    client = world.client()
    answer = client.get(f"/runs/{task.id}/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.rstrip().endswith('event: end\ndata: {"state": "done"}')
    last_id = [line for line in answer.text.splitlines() if line.startswith("id: ")][-1].removeprefix("id: ")
    assert client.get(f"/runs/{task.id}/stream", headers={"Last-Event-ID": last_id}).status_code == 204


def test_a_transcript_that_cannot_be_read_leaves_the_rest_of_the_story(world: ApiWorld) -> None:
    task = world.story.in_review("The total is wrong")
    attempt = world.story.queue.attempts(task.id)[0]
    (world.transcripts / f"attempt-{attempt.id}.jsonl").mkdir(parents=True)
    place = f"{task.id}-1-1-{attempt.id}-5"
    for headers in ({}, {"Last-Event-ID": place}):
        answer = world.client().get(f"/runs/{task.id}/stream?until=rest", headers=headers)
        assert answer.status_code == 200
        assert '"state": "in_review"' in answer.text.rpartition("event: end")[2]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WebProcess, int]]:
    folder: Path = tmp_path_factory.mktemp("web")
    with Database(folder / "fixwright.sqlite3") as database:
        task, _ = Story(database).running("The total is wrong")
    with running_web_process(folder) as web:
        yield web, task.id


def test_open_streams_do_not_keep_the_process_from_ending(running: tuple[WebProcess, int]) -> None:
    web, task_id = running
    answers = []
    for _ in range(10):
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=20)
        headers = {"Authorization": f"Bearer {CONSOLE_TOKEN}"}
        connection.request("GET", f"/api/v1/runs/{task_id}/stream", headers=headers)
        answers.append(connection.getresponse())
    for answer in answers:
        assert answer.status == 200
        while not answer.readline().startswith(b"event: phase"):
            pass
    assert web.stop() == 0
    for answer in answers:
        answer.read()  # the body has its end: nobody was cut off
    assert "Cancel" not in web.log_text()


@pytest.mark.long
def test_without_a_token_there_is_no_api(tmp_path: Path) -> None:
    with running_web_process(tmp_path, FIXWRIGHT_CONSOLE_TOKEN=UNSET) as web:
        connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=20)
        connection.request("GET", "/api/v1/runs")
        answer = connection.getresponse()
        assert answer.status == 404
        assert json.loads(answer.read())
