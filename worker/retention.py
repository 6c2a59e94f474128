"""Keeps the disk: packs and forgets transcripts, lets go of finished work, evicts and tidies mirrors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from domain.errors import FixwrightError, GitError
from domain.model import Task
from domain.ports import Clock, TaskQueue
from domain.states import LIVE_STATES, State
from harness.transcript import PACKED_SUFFIX, pack
from harness.workspace import KeptMirror, Workspaces
from worker.housekeeping import Steps

log = structlog.get_logger(__name__)

REST = timedelta(hours=1)
"""How long a transcript is left as it is after its last line: somebody may be following it."""

REGRET = timedelta(days=7)
"""How long the work of a task that was ended is kept: a label put on anew makes it live again."""

PAGE = 200
DIFFERENCE = ".diff"
"""What ends the name of the difference that is kept beside a transcript."""

_TRANSCRIPT = re.compile(r"attempt-(\d{1,18})\.jsonl")
_TIDYING_LOOKS_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How long something is kept after its last use, and how many bytes all of it may take."""

    age: timedelta
    most_bytes: int


def keep_transcripts(directory: Path, queue: TaskQueue, clock: Clock, keeping: Keeping) -> Steps:
    """Pack transcripts of attempts that are over; remove old ones, and the oldest beyond the bytes allowed.

    Those of attempts that can still go on are left alone. Raises StoreUnavailable, OSError.
    """
    over: list[os.stat_result] = []
    paths: list[Path] = []
    for path in sorted(directory.glob("attempt-*.jsonl*")) if directory.is_dir() else []:
        match = _TRANSCRIPT.fullmatch(path.name.removesuffix(PACKED_SUFFIX))
        if match is None or not _is_over(queue, int(match[1])):
            continue
        if path.suffix != PACKED_SUFFIX and _age(path, clock) >= REST:
            path = _packed(path)
        paths.append(path)
        over.append(path.stat())
        yield 0.0
    total = sum(status.st_size for status in over)
    for status, path in sorted(zip(over, paths, strict=True), key=lambda pair: pair[0].st_mtime):
        if _age(path, clock) < keeping.age and total <= keeping.most_bytes:
            break
        path.unlink(missing_ok=True)
        directory.joinpath(f"{path.name.partition('.')[0]}{DIFFERENCE}").unlink(missing_ok=True)
        total -= status.st_size
        log.info("transcript removed", file=path.name, bytes=status.st_size)
        yield 0.0


def _packed(path: Path) -> Path:
    """Pack a transcript; where there is no room even for that, leave it as it is."""
    try:
        return pack(path)
    except OSError as error:
        log.warning("transcript not packed", file=path.name, error=str(error))
        return path


def _is_over(queue: TaskQueue, attempt_id: int) -> bool:
    """Tell whether an attempt has ended; one that nobody knows has, too."""
    try:
        return queue.attempt(attempt_id).outcome is not None
    except KeyError:
        return True


def _age(path: Path, clock: Clock) -> timedelta:
    return clock.now() - datetime.fromtimestamp(path.stat().st_mtime, UTC)


class MirrorKeeper:
    """Keeps the mirrors in order, and within their space. Not while an attempt runs in this worker."""

    def __init__(
        self,
        workspaces: Workspaces,
        queue: TaskQueue,
        clock: Clock,
        keeping: Keeping,
        *,
        least_free_bytes: int,
        tidy_every: timedelta,
    ) -> None:
        self._workspaces = workspaces
        self._queue = queue
        self._clock = clock
        self._keeping = keeping
        self._least_free = least_free_bytes
        self._tidy_every = tidy_every

    def make_room(self) -> Steps:
        """Let go of finished work; evict the longest unused until all fit and enough of the disk is free.

        Never a mirror that a task at work needs, or that holds work which is nowhere else.
        Raises StoreUnavailable, OSError.
        """
        held: dict[Path, bool] = {}
        sizes: dict[Path, int] = {}
        at_work = self._places_at_work()
        kept = self._workspaces.mirrors()
        for mirror in kept:
            held[mirror.path] = self._let_go(mirror) or mirror.path in at_work
            sizes[mirror.path] = mirror.bytes()
            yield 0.0
        for mirror in kept:
            is_old = self._clock.now() - mirror.used_at >= self._keeping.age
            if not held[mirror.path] and (is_old or self._is_tight(sizes)):
                mirror.remove()
                log.info("mirror evicted", mirror=mirror.path.name, bytes=sizes.pop(mirror.path))
                yield 0.0
        for mirror in kept:
            if mirror.path in sizes and mirror.path not in at_work and self._is_tight(sizes):
                mirror.drop_caches()
                sizes[mirror.path] = mirror.bytes()
                yield 0.0
        if self._is_tight(sizes):
            log.warning(
                "disk is tight",
                mirrors_bytes=sum(sizes.values()),
                mirrors_allowed=self._keeping.most_bytes,
                free_bytes=self._workspaces.free_bytes(),
            )

    def tidy(self) -> Steps:
        """Pack the mirrors whose time has come, one after another, in a thread of its own.

        A fetch into the one that is being packed waits for it; the loop does not.
        """
        for mirror in self._workspaces.mirrors():
            tidied_at = mirror.tidied_at
            if tidied_at is not None and self._clock.now() - tidied_at < self._tidy_every:
                continue
            thread = threading.Thread(target=_tidy, args=(mirror,), name="tidying", daemon=True)
            thread.start()
            while thread.is_alive():
                yield _TIDYING_LOOKS_SECONDS

    def _is_tight(self, sizes: dict[Path, int]) -> bool:
        is_over = sum(sizes.values()) > self._keeping.most_bytes
        return is_over or self._workspaces.free_bytes() < self._least_free

    def _places_at_work(self) -> set[Path]:
        """Return the mirrors that tasks need which run, or wait for their turn."""
        return {
            self._workspaces.mirror_path(task.issue.forge, task.issue.repository_id)
            for task in self._live_tasks()
            if task.state in {State.QUEUED, State.RUNNING}
        }

    def _live_tasks(self) -> Iterator[Task]:
        last = 0
        while page := self._queue.live_tasks(last, PAGE):
            yield from page
            last = page[-1].id

    def _let_go(self, mirror: KeptMirror) -> bool:
        """Forget the work of attempts that nobody can go on with; tell whether any is left."""
        is_left = False
        try:
            for attempt_id in sorted(mirror.attempts()):
                if self._can_go_on_with(attempt_id):
                    is_left = True
                else:
                    mirror.forget_attempt(attempt_id)
        except GitError as error:
            log.warning("mirror cannot be looked into", mirror=mirror.path.name, error=str(error))
            return True
        return is_left

    def _can_go_on_with(self, attempt_id: int) -> bool:
        """Tell whether an attempt's work may still be wanted and is not on the forge."""
        try:
            attempt = self._queue.attempt(attempt_id)
        except KeyError:
            return False
        task = self._queue.task(attempt.task_id)
        if task.state not in LIVE_STATES:
            return self._clock.now() - task.updated_at < REGRET
        if attempt.outcome is None:
            return True
        numbers = {each.id: each.number for each in self._queue.attempts(task.id)}
        done = [p for p in self._queue.publications(task.id) if p.done_at is not None]
        return all(numbers[each.attempt_id] < attempt.number for each in done)


def _tidy(mirror: KeptMirror) -> None:
    try:
        mirror.tidy()
    except (FixwrightError, OSError) as error:
        log.warning("mirror not tidied", mirror=mirror.path.name, error=str(error))
    else:
        log.info("mirror tidied", mirror=mirror.path.name)
