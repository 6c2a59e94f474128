"""The stream of a running task: what is told, from where it goes on, many who listen, and the end."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from app.console_live import LiveTasks, place_of, written
from app.console_sessions import Sessions
from app.console_transcript import StepView
from domain.states import Trigger
from store.database import Database
from tests.app.consoles import World, basic
from tests.app.stories import Story
from tests.app.web_process import CONSOLE_TOKEN, running_web_process
from tests.browser.seeding import seed


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "console.sqlite3") as database:
        yield database


@pytest.fixture
def story(database: Database) -> Story:
    return Story(database)


@pytest.fixture
def world(database: Database, story: Story) -> World:
    world = World(database, story)
    world.shelf.mkdir()
    return world


def heard(world: World, last_id: str = "", most: int = 20, *, then: object = None) -> list[str]:
    """Return the events of task 1 until its stream ends, or until there were so many."""

    async def listen() -> list[str]:
        live = LiveTasks(world.reading(), lambda: world.is_ending, look_seconds=0.001)
        found: list[str] = []
        async for event in live.events(1, last_id, lambda step: f"<b>{step.number}</b>"):
            found.append(event)
            if len(found) == 2 and callable(then):
                then()
            if len(found) >= most:
                world.is_ending = True
        assert not live.is_full
        return found

    return asyncio.run(listen())


def record(number: int) -> str:
    return json.dumps({"step": number, "messages": []}) + "\n"


def test_steps_are_told_each_with_the_place_after_it(world: World, story: Story) -> None:
    story.running("x")
    path = world.shelf / "attempt-1.jsonl"
    path.write_text(record(1) + "no record\n" + record(2) + '{"step": 3, "mess')
    events = heard(world, most=3)
    assert events[0] == "retry: 3000\n\n"
    first = len(record(1))
    assert events[1] == f"id: 1-{first}\nevent: step\ndata: <b>1</b>\n\n"
    again = World(world._database, story)
    assert heard(again, f"1-{first}", most=2)[1].endswith("data: <b>2</b>\n\n"), "it goes on where it was"


def test_a_move_and_the_end_are_told(world: World, story: Story) -> None:
    task, _ = story.running("x")
    (world.shelf / "attempt-1.jsonl").write_text(record(1))
    events = heard(world, then=lambda: story.queue.move(task, Trigger.CANCELLED))
    assert "event: moved\ndata: cancelled" in events[-2] and events[-1] == "event: end\ndata: over\n\n"


def test_a_stream_ends_when_the_process_does(world: World, story: Story) -> None:
    story.running("x")
    world.is_ending = True
    assert heard(world) == ["retry: 3000\n\n"]


def test_a_stream_ends_with_the_session_that_opened_it(world: World, story: Story) -> None:
    story.running("x")
    client = world.operator()
    sessions = Sessions(story.clock.now)
    viewer = sessions.find(sessions.open(name="operator"))
    assert viewer is not None and sessions.is_open(viewer)
    looks = iter([True, True, False])

    async def listen() -> list[str]:
        live = LiveTasks(world.reading(), lambda: False, look_seconds=0.001)
        return [event async for event in live.events(1, "", str, lambda: next(looks))]

    assert asyncio.run(listen())[0].startswith("retry")
    sessions.close(viewer)
    assert not sessions.is_open(viewer)
    assert client.get("/console").status_code == 200


@pytest.mark.parametrize("text", ["", "x", "1", "-", "1-x", "²-1", "9" * 40 + "-1", "1--1", "1-2-3"])
def test_a_place_that_is_none_is_the_beginning(text: str) -> None:
    attempt, byte = place_of(text)
    assert attempt >= 0 and byte >= 0


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a\rb"])
def test_no_line_end_in_a_text_ends_its_event(text: str) -> None:
    assert written("step", "1-2", text) == "id: 1-2\nevent: step\ndata: a\ndata: b\n\n"
    assert written("step", "1-2", f"{text}\n\nevent: x").count("\n\n") == 1


def test_a_step_of_strange_values_is_shown_all_the_same(world: World, story: Story) -> None:
    story.running("x")
    strange = [
        {
            "step": 1,
            "messages": [1, None, "x", {"role": 3}, {"role": "assistant", "extra": {"actions": [[], {}]}}],
        },
        {"step": 2, "messages": {"a": 1}, "usage": [], "cost": "NaN", "seconds": True, "at": "yesterday"},
        {"step": True},
        {"step": "4"},
        {"step": 5, "cost": "1e999999", "usage": {"input_tokens": "x"}},
        {
            "step": 6,
            "messages": [
                {"role": "tool", "content": [{"text": [{"text": 5}]}], "extra": {"exit_code": True}}
            ],
        },
    ]
    lines = "".join(json.dumps(each) + "\n" for each in strange)
    (world.shelf / "attempt-1.jsonl").write_bytes(lines.encode() + b"\xff\xfe\n[[[[\n" + b"[" * 5000 + b"\n")
    shown = world.reader().get("/console/tasks/1/attempts/1")
    assert shown.status_code == 200 and 'id="step-6"' in shown.text
    assert isinstance(world.reading().shelf.read(1).steps[0], StepView)


@pytest.mark.long
def test_fifty_listeners_cost_little_and_let_the_process_end(tmp_path: Path) -> None:
    seed(tmp_path)
    with running_web_process(tmp_path) as web, ExitStack() as stack:
        for _ in range(50):
            connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=20)
            stack.enter_context(closing(connection))
            connection.request("GET", "/console/tasks/18/live", headers=basic("operator", CONSOLE_TOKEN))
            answer = connection.getresponse()
            assert answer.status == 200 and answer.readline() == b"retry: 3000\n"
            stack.callback(answer.close)
        for path in ("/console", "/console/tasks/13", "/console/spend", "/console/deliveries/1"):
            one = http.client.HTTPConnection("127.0.0.1", web.port, timeout=20)
            with closing(one):
                one.request("GET", path, headers=basic("operator", CONSOLE_TOKEN))
                assert one.getresponse().status == 200
        assert web.resident_mb() <= 110
        assert web.stop(signal.SIGTERM) == 0
