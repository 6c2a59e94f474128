"""A task's story: complete, in order, each thing once, from any place in it."""

from __future__ import annotations

import json

import pytest

from app.api import news, tail
from app.api.news import Place, StreamEvent
from domain.model import Outcome
from domain.ports import Landing
from domain.states import Trigger
from harness.transcript import pack
from tests.app.api.world import SECRET, ApiWorld


def whole(world: ApiWorld, task_id: int, last_id: str = "") -> list[StreamEvent]:
    """Read on until there is no more."""
    place, events = Place.read(task_id, last_id), []
    for _ in range(10_000):
        found = world.reader.after(place)
        events += found.events
        assert found.place != place or found.is_all
        place = found.place
        if found.is_all:
            return events
    raise AssertionError("no end of the story")


@pytest.fixture
def told(world: ApiWorld) -> int:
    """A task with two attempts and all kinds of news; returns its id."""
    task, attempt = world.story.running("The total is wrong")
    world.step(attempt, 1)
    world.transcript(attempt).append({"restatement": {"expected": "0", "actual": f"1 {SECRET}"}})
    world.transcript(attempt).append({"something": "of a later version"})
    world.step(attempt, 2)
    world.story.phase(attempt, "agent", 0.1, "0.01", f"2 steps {SECRET}")
    world.story.queue.end_attempt(attempt, Outcome.UNVERIFIED)
    world.story.queue.move(task, Trigger.RETRIED)
    again = world.story.queue.claim("worker-1/a", 60)
    assert again is not None
    second = world.story.queue.begin_attempt(again)
    world.step(second, 1, command="pwd")
    world.transcript(second).append({"claim": {"root_cause": "rounding"}})
    world.story.queue.end_attempt(second, Outcome.CANCELLED)
    world.story.queue.move(again, Trigger.CANCELLED, Landing(detail="enough"))
    return task.id


def test_the_whole_story_comes_in_the_order_of_time(world: ApiWorld, told: int) -> None:
    kinds = [event.kind for event in whole(world, told)]
    assert kinds == [
        *("move", "move", "phase", "step", "restatement", "step", "phase"),
        *("move", "move", "step", "claim", "move"),
    ]


def test_every_place_is_one_from_which_the_rest_follows(world: ApiWorld, told: int) -> None:
    events = whole(world, told)
    for position, event in enumerate(events):
        assert whole(world, told, event.id) == events[position + 1 :]


@pytest.mark.parametrize(("rows", "piece"), [(1, 100), (2, 10_000), (200, 300)])
def test_small_bites_tell_the_same_story(
    world: ApiWorld, told: int, monkeypatch: pytest.MonkeyPatch, rows: int, piece: int
) -> None:
    events = whole(world, told)
    monkeypatch.setattr(news, "MOST_ROWS", rows)
    monkeypatch.setattr(tail, "PIECE", piece)
    assert whole(world, told) == events


def test_packing_a_transcript_changes_nothing(world: ApiWorld, told: int) -> None:
    events = whole(world, told)
    for path in list(world.transcripts.iterdir()):
        pack(path)
    assert whole(world, told) == events
    assert whole(world, told, events[3].id) == events[4:]


def test_a_story_without_its_transcripts_is_the_moves_and_phases(world: ApiWorld, told: int) -> None:
    for path in world.transcripts.iterdir():
        path.unlink()
    assert {event.kind for event in whole(world, told)} == {"move", "phase"}


def test_secrets_of_this_process_are_in_no_event(world: ApiWorld, told: int) -> None:
    assert SECRET not in json.dumps([event.data for event in whole(world, told)])


@pytest.mark.parametrize(
    "last_id",
    ["nonsense", "-1-0-0-0-0", "99-1-1-1-1", "1" * 400, f"1-1-1-1-{10**17}", "1-1-1-1", "²-1-1-1-1"],
)
def test_what_names_no_place_in_the_task_is_its_beginning(world: ApiWorld, told: int, last_id: str) -> None:
    assert whole(world, told, last_id) == whole(world, told)


def test_a_place_in_the_middle_of_a_line_goes_on_with_the_next(world: ApiWorld, told: int) -> None:
    event = next(event for event in whole(world, told) if event.kind == "step")
    task, moved, phase, attempt, byte = event.id.split("-")
    inside = f"{task}-{moved}-{phase}-{attempt}-{int(byte) + 5}"
    assert "restatement" not in [event.kind for event in whole(world, told, inside)]
    assert "claim" in [event.kind for event in whole(world, told, inside)]
