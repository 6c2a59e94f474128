"""Streams: what was and what comes, for many at once, until the task, the listener or the process ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest

from app.api.news import StreamEvent
from app.api.stream import TooManyStreams, as_text, written
from domain.model import Attempt, Task
from domain.ports import Landing
from domain.states import Trigger
from tests.app.api.world import ApiWorld

Found = TypeVar("Found")
Events = AsyncIterator[StreamEvent | None]


def run(work: Coroutine[Any, Any, Found]) -> Found:
    async def bounded() -> Found:
        return await asyncio.wait_for(work, 20)

    return asyncio.run(bounded())


@pytest.fixture
def at_work(world: ApiWorld) -> tuple[Task, Attempt]:
    return world.story.running("The total is wrong")


async def until(events: Events, kind: str) -> StreamEvent:
    async for event in events:
        if event is not None and event.kind == kind:
            return event
    raise AssertionError(f"no {kind} came")


def cancel(world: ApiWorld, task: Task) -> None:
    world.story.queue.move(world.story.queue.task(task.id), Trigger.CANCELLED, Landing())


def test_what_happens_meanwhile_is_told_and_the_end_ends_it(
    world: ApiWorld, at_work: tuple[Task, Attempt]
) -> None:
    task, attempt = at_work

    async def listen() -> list[str]:
        events = await world.streams.open(task.id)
        await until(events, "phase")
        world.step(attempt, 1)
        assert (await until(events, "step")).data["step"] == 1
        world.story.phase(attempt, "verify", 2.0)
        assert (await until(events, "phase")).data["name"] == "verify"
        cancel(world, task)
        return [event.kind async for event in events if event is not None]

    assert run(listen()) == ["move", "end"]


def test_who_comes_back_hears_the_rest_and_nothing_twice(
    world: ApiWorld, at_work: tuple[Task, Attempt]
) -> None:
    task, attempt = at_work

    async def twice() -> tuple[list[str], list[str]]:
        events = await world.streams.open(task.id)
        last = await until(events, "phase")
        await events.aclose()  # type: ignore[attr-defined]
        world.step(attempt, 1)
        cancel(world, task)
        rest = [event async for event in await world.streams.open(task.id, last.id) if event]
        assert await world.streams.is_over(task.id, rest[-1].id)
        assert not await world.streams.is_over(task.id, last.id)
        return [event.kind for event in rest], [event.id for event in rest]

    kinds, ids = run(twice())
    assert kinds == ["step", "move", "end"]
    assert len(set(ids[:-1])) == 2


def test_until_rest_ends_where_people_are_waited_for(world: ApiWorld) -> None:
    task = world.story.in_review("The total is wrong")

    async def listen() -> list[str]:
        return [event.kind async for event in await world.streams.open(task.id, until_rest=True) if event]

    assert run(listen())[-1] == "end"


def test_silence_has_signs_of_life(world: ApiWorld, at_work: tuple[Task, Attempt]) -> None:
    streams = world.make_streams(beat_seconds=0.01)

    async def listen() -> None:
        events = await streams.open(at_work[0].id)
        while await anext(events) is not None:
            pass

    run(listen())


def test_the_end_of_the_process_ends_all_streams(world: ApiWorld, at_work: tuple[Task, Attempt]) -> None:
    async def listen() -> list[StreamEvent | None]:
        opened = [await world.streams.open(at_work[0].id) for _ in range(5)]
        for events in opened:
            await until(events, "phase")
        world.over = True
        rest = await asyncio.gather(*(_all(events) for events in opened))
        return [event for each in rest for event in each]

    assert run(listen()) == []


async def _all(events: Events) -> list[StreamEvent | None]:
    return [event async for event in events]


def test_no_more_listen_than_may_and_one_that_leaves_makes_room(
    world: ApiWorld, at_work: tuple[Task, Attempt]
) -> None:
    streams = world.make_streams(most=2)

    async def listen() -> None:
        opened = [await streams.open(at_work[0].id) for _ in range(2)]
        for events in opened:
            await anext(events)
        with pytest.raises(TooManyStreams):
            await streams.open(at_work[0].id)
        with pytest.raises(TooManyStreams):
            await world.make_streams(most=2).open(at_work[0].id, kept_free=2)
        await opened[0].aclose()  # type: ignore[attr-defined]
        await anext(await streams.open(at_work[0].id))

    run(listen())


def test_a_task_that_is_not_there_cannot_be_listened_to(world: ApiWorld) -> None:
    with pytest.raises(KeyError):
        run(world.streams.open(99))


def test_an_event_is_written_so_that_nothing_in_it_can_begin_another() -> None:
    hostile = "a\n\nevent: end\r\ndata: {}\u2028\ud800"
    text = written(StreamEvent("1-1-0-0-0", "step", {"text": hostile}))
    assert text.count(b"\n") == 4
    data = text.split(b"\n")[2].removeprefix(b"data: ")
    assert json.loads(data) == {"text": hostile}


def test_a_sign_of_life_is_a_comment() -> None:
    async def silence() -> AsyncIterator[StreamEvent | None]:
        yield None

    async def text() -> bytes:
        return b"".join([part async for part in as_text(silence())])

    assert run(text()) == b"retry: 2000\n\n: still here\n\n"
