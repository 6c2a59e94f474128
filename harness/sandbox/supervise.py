"""Watches one running command: reads its output, and says when and why it must end."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.sandbox.capture import OutputCapture
from harness.stopping import StopSignal

_CHUNK = 2**16
_TICK_SECONDS = 0.2


class Ending(StrEnum):
    """Why a command ended. The empty one: by itself."""

    BY_ITSELF = ""
    TIMEOUT = "timeout"
    OUTPUT = "output"
    DISK = "disk"
    MEMORY = "memory"
    STOPPED = "stopped"


Check = Callable[[], Ending]
"""Asked now and then while a command runs; BY_ITSELF means that all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What to watch: the output pipe, the end of the process, the stop signal, the clock.

    `deadline` is a moment of `time.monotonic()`.
    """

    output: int
    ended: int
    stop: StopSignal
    deadline: float

    def until_ended(self, capture: OutputCapture, *, output_limit: int, checks: Sequence[Check]) -> Ending:
        """Read output until the process ends or must end. Never waits for the pipe to close."""
        next_tick = time.monotonic() + _TICK_SECONDS
        open_pipe = True
        while True:
            ready = self.wait(*[self.output] * open_pipe, wake_at=next_tick)
            if self.output in ready:
                open_pipe = _read_into(capture, self.output)
            if capture.seen > output_limit:
                return Ending.OUTPUT
            if self.stop.fileno() in ready:
                return Ending.STOPPED
            if self.ended in ready:
                return Ending.BY_ITSELF
            now = time.monotonic()
            if now >= self.deadline:
                return Ending.TIMEOUT
            if now >= next_tick:
                for check in checks:
                    if ending := check():
                        return ending
                next_tick = time.monotonic() + _TICK_SECONDS

    def wait(self, *descriptors: int, wake_at: float | None = None) -> set[int]:
        """Wait for a descriptor, the process's end, the stop signal, the deadline or an earlier moment."""
        poller = select.poll()
        for watched in (*descriptors, self.ended, self.stop.fileno()):
            poller.register(watched, select.POLLIN)
        moment = self.deadline if wake_at is None else min(self.deadline, wake_at)
        milliseconds = max(0.0, moment - time.monotonic()) * 1000
        return {ready for ready, _ in poller.poll(min(milliseconds + 0.999, 1e9))}


def drain(capture: OutputCapture, output: int) -> None:
    """Take what is left in the pipe, without waiting for more. Whoever wrote to it is dead."""
    while _read_into(capture, output):
        pass


def _read_into(capture: OutputCapture, output: int) -> bool:
    """Read once; tell whether the pipe may have more, now or later."""
    try:
        chunk = os.read(output, _CHUNK)
    except BlockingIOError:
        return False
    capture.feed(chunk)
    return bool(chunk)
