"""One look at the store for all who wait for news of tasks, twice a second while somebody waits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import structlog

from domain.errors import StoreUnavailable

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.5

Marks = Mapping[int, object]
"""By task, something that changes with every piece of news."""


class Pulse:
    """Wakes those who watch a task when there is news of it, and all of them when the process ends.

    For one event loop. The looks begin with the first watcher and end with the last.
    """

    def __init__(
        self,
        look: Callable[[Iterable[int]], Awaitable[Marks]],
        *,
        is_ending: Callable[[], bool],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """`look` may raise StoreUnavailable; then the next look tells."""
        self._look = look
        self._is_ending = is_ending
        self._look_seconds = look_seconds
        self._watched: Counter[int] = Counter()
        self._marks: Marks = {}
        self._turn = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    @property
    def watchers(self) -> int:
        """How many watch now."""
        return self._watched.total()

    @property
    def is_over(self) -> bool:
        """Whether the process is about to end."""
        return self._is_ending()

    @contextmanager
    def watching(self, task_id: int) -> Iterator[None]:
        """Have a task looked at within the block."""
        self._watched[task_id] += 1
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._keep_looking())
        try:
            yield
        finally:
            self._watched[task_id] -= 1
            if not self._watched[task_id]:
                del self._watched[task_id]

    def mark(self, task_id: int) -> object:
        """Return what the last look saw of a task; to be taken before its news are read."""
        return self._marks.get(task_id)

    async def news(self, task_id: int, seen: object, timeout: float) -> bool:
        """Wait until a look sees something else than `seen`; False after `timeout` seconds, or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not self.is_over:
                    if self.mark(task_id) != seen:
                        return True
                    await self._turn.wait()
        return False

    async def _keep_looking(self) -> None:
        while self._watched:
            await asyncio.sleep(self._look_seconds)
            if self._is_ending():
                break
            try:
                marks = await self._look(list(self._watched))
            except StoreUnavailable as error:
                log.warning("no news of tasks now", error=str(error))
                continue
            if marks != self._marks:
                self._marks = marks
                self._wake()
        self._wake()

    def _wake(self) -> None:
        """Let all who wait look once."""
        self._turn.set()
        self._turn = asyncio.Event()
