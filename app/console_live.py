"""The live part of a task's page: steps, phases and the task's moves as Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from app.console_transcript import StepView, records_in, step_view
from app.console_view import Reading
from domain.errors import StoreUnavailable
from domain.states import State

LOOK_SECONDS = 1.0
BEAT_SECONDS = 15.0
MOST_STREAMS = 100
"""At once; more are told to come later, and their page stays as it was loaded."""

_OVER = frozenset({State.DONE, State.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a look found: the task's place in its story, and what was said after a byte of a transcript.

    Each step comes with the byte after it.
    """

    mark: tuple[str, int, int]
    is_over: bool
    attempt_id: int
    steps: tuple[tuple[int, StepView], ...]
    phase: str
    byte: int


class LiveTasks:
    """Streams of one process; each ends by itself when the process is about to."""

    def __init__(
        self, reading: Reading, is_ending: Callable[[], bool], look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._reading = reading
        self._is_ending = is_ending
        self._look_seconds = look_seconds
        self._open = 0

    @property
    def is_full(self) -> bool:
        """Whether as many are open as may be."""
        return self._open >= MOST_STREAMS

    async def events(
        self,
        task_id: int,
        last_id: str,
        render: Callable[[StepView], str],
        is_allowed: Callable[[], bool] = lambda: True,
    ) -> AsyncIterator[str]:
        """Yield events from after `last_id` ("attempt-byte"), or from the beginning where it is "".

        They end when whoever listens may not any more.

        Raises nothing for a store that is away: the next look tells.
        """
        self._open += 1
        try:
            yield "retry: 3000\n\n"
            attempt, byte = place_of(last_id)
            mark: tuple[str, int, int] | None = None
            silent = 0.0
            while not self._is_ending() and is_allowed():
                found = await self._look(task_id, attempt, byte)
                if found is not None:
                    attempt, byte = found.attempt_id, found.byte
                    for event in _events(found, mark, render):
                        yield event
                        silent = 0.0
                    if found.is_over:
                        yield "event: end\ndata: over\n\n"
                        return
                    mark = found.mark
                await asyncio.sleep(self._look_seconds)
                silent += self._look_seconds
                if silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield ": still here\n\n"
        finally:
            self._open -= 1

    async def _look(self, task_id: int, attempt: int, byte: int) -> Look | None:
        try:
            return await run_in_threadpool(look, self._reading, task_id, attempt, byte)
        except StoreUnavailable:
            return None


def look(reading: Reading, task_id: int, attempt_id: int, byte: int) -> Look:
    """Return what is new after a byte of an attempt's transcript. Raises StoreUnavailable, KeyError."""
    task = reading.queue.task(task_id)
    attempts = reading.queue.attempts(task_id)
    newest = attempts[-1].id if attempts else 0
    if newest != attempt_id:
        byte = 0
    steps, phase, end = _said(reading, newest, byte)
    return Look(
        mark=(task.state.value, task.generation, newest),
        is_over=task.state in _OVER,
        attempt_id=newest,
        steps=steps,
        phase=phase,
        byte=end,
    )


def place_of(last_id: str) -> tuple[int, int]:
    """Read "attempt-byte"; anything else is the beginning."""
    attempt, _, byte = last_id.partition("-")
    if attempt.isascii() and byte.isascii() and attempt.isdigit() and byte.isdigit():
        return int(attempt[:18]), int(byte[:18])
    return 0, 0


def _said(reading: Reading, attempt_id: int, byte: int) -> tuple[tuple[tuple[int, StepView], ...], str, int]:
    """Return the whole lines after a byte; one that is still being written waits for the next look."""
    if not attempt_id or reading.shelf.size(attempt_id) <= byte:
        return (), "", byte
    content = reading.shelf.content(attempt_id, byte)
    steps: list[tuple[int, StepView]] = []
    phase = ""
    for line in content[: content.rfind(b"\n") + 1].splitlines(keepends=True):
        byte += len(line)
        for record in records_in(line):
            if isinstance(record.get("step"), int):
                steps.append((byte, step_view(record)))
            elif isinstance(record.get("phase"), str):
                phase = str(record["phase"])
    return tuple(steps), phase, byte


def _events(found: Look, mark: tuple[str, int, int] | None, render: Callable[[StepView], str]) -> list[str]:
    events = [written("step", f"{found.attempt_id}-{end}", render(step)) for end, step in found.steps]
    place = f"{found.attempt_id}-{found.byte}"
    if found.phase:
        events.append(written("phase", place, found.phase))
    if mark is not None and mark != found.mark:
        events.append(written("moved", place, found.mark[0]))
    return events


def written(kind: str, place: str, text: str) -> str:
    """Write one event; a line end of any kind in the text begins another `data` line.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return f"id: {place}\nevent: {kind}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
