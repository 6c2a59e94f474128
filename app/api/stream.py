"""The story of a task as a stream of events: what was, then what comes, until the task is over."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

from app.api.news import News, NewsReader, Place, StreamEvent
from app.api.pulse import LOOK_SECONDS, Marks, Pulse
from domain.errors import FixwrightError, StoreUnavailable
from domain.states import State

log = structlog.get_logger(__name__)

MOST_STREAMS = 100
"""At once. More are turned away: each holds a connection, of which the process has a bounded number."""

BEAT_SECONDS = 15.0
"""Between two signs of life, for proxies that close what is silent."""

OVER = frozenset({State.DONE, State.CANCELLED})
AT_REST = OVER | {State.IN_REVIEW, State.BLOCKED}

Answer = TypeVar("Answer")


class TooManyStreams(FixwrightError):
    """As many people listen as may."""


class TaskStreams:
    """Streams for any number of tasks and listeners, up to a limit. One per process, for one event loop."""

    def __init__(
        self,
        reader: NewsReader,
        *,
        is_ending: Callable[[], bool],
        beat_seconds: float = BEAT_SECONDS,
        look_seconds: float = LOOK_SECONDS,
        most: int = MOST_STREAMS,
    ) -> None:
        """`is_ending` tells whether the process is about to end; then every stream does, too."""
        self._reader = reader
        self._beat_seconds = beat_seconds
        self._most = most
        self._hands = ThreadPoolExecutor(2, thread_name_prefix="stream")
        self._pulse = Pulse(self._look, is_ending=is_ending, look_seconds=look_seconds)

    async def is_over(self, task_id: int, last_id: str, *, until_rest: bool = False) -> bool:
        """Tell whether a listener who has come to `last_id` has heard all that there is to hear.

        Raises KeyError, StoreUnavailable.
        """
        state = await self._off_loop(self._reader.state, task_id)
        if state not in (AT_REST if until_rest else OVER) or not last_id:
            return False
        news = await self._off_loop(self._reader.after, Place.read(task_id, last_id))
        return news.is_all and not news.events

    async def open(
        self, task_id: int, last_id: str = "", *, until_rest: bool = False, kept_free: int = 0
    ) -> AsyncIterator[StreamEvent | None]:
        """Return what happened after `last_id`, and then what happens; None in it is a sign of life.

        `last_id` is the id of the last event that was heard, or "" for all from the beginning; one that is
        none means the beginning, too. Ends with an "end" event when the task is over, with `until_rest` also
        when it waits for people; and without one when the process ends: the same id goes on later.
        `kept_free` streams are left for others.

        Raises:
            KeyError: there is no such task.
            StoreUnavailable: it cannot be looked up now.
            TooManyStreams: as many are open as may be.
        """
        if self._pulse.watchers >= self._most - kept_free:
            raise TooManyStreams(f"{self._most} streams are open, which is the most")
        await self._off_loop(self._reader.state, task_id)
        return self._listen(Place.read(task_id, last_id), AT_REST if until_rest else OVER)

    async def _listen(self, place: Place, ends: frozenset[State]) -> AsyncIterator[StreamEvent | None]:
        with self._pulse.watching(place.task):
            while not self._pulse.is_over:
                seen = self._pulse.mark(place.task)
                state, news = await self._read(place)
                for event in news.events:
                    yield event
                place = news.place
                if not news.is_all:
                    continue
                if state in ends:
                    yield StreamEvent(str(place), "end", {"state": state.value})
                    return
                while not await self._pulse.news(place.task, seen, self._beat_seconds):
                    if self._pulse.is_over:
                        return
                    yield None

    async def _read(self, place: Place) -> tuple[State | None, News]:
        """Return where the task stood, and what came after a place; the state is the older of the two."""
        try:
            state = await self._off_loop(self._reader.state, place.task)
            return state, await self._off_loop(self._reader.after, place)
        except StoreUnavailable as error:
            log.warning("a stream waits", task=place.task, error=str(error))
            return None, News((), place, is_all=True)

    async def _look(self, task_ids: Iterable[int]) -> Marks:
        return await self._off_loop(self._reader.marks, task_ids)

    async def _off_loop(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        """Call in a thread of our own: who streams must not keep others from the shared ones."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, call, *arguments)


async def as_text(events: AsyncIterator[StreamEvent | None]) -> AsyncIterator[bytes]:
    """Write events as Server-Sent Events.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    yield b"retry: 2000\n\n"
    async for event in events:
        yield b": still here\n\n" if event is None else written(event)


def written(event: StreamEvent) -> bytes:
    """Write one event: ASCII, so that no character in it can end a line."""
    return f"id: {event.id}\nevent: {event.kind}\ndata: {json.dumps(event.data)}\n\n".encode("ascii")
