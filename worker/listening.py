"""Listens for maintainers while the agent works: what each of them writes reaches it before its next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from domain.errors import ForgeError, Stopped
from domain.model import Comment, Outcome, Task
from domain.ports import Forge, TaskQueue
from worker.halt import Halt
from worker.readiness import words_of_writers
from worker.signals import SignalDesk

log = structlog.get_logger(__name__)

HEARD = "heard"
"""Key of a step's record: ids of the comments that the agent was given before that step."""


class Known(NamedTuple):
    """Ids of comments that the agent was given, those of them on no record yet; whether there may be more."""

    known: set[str]
    given: list[str]
    is_behind: bool


@dataclass(slots=True, kw_only=True)
class Listening:
    """Gives each comment once, also over restarts: what was given stands in the next step's record.

    A forge that cannot be asked now is asked again after the next step.
    """

    task: Task
    forge: Forge
    desk: SignalDesk
    queue: TaskQueue
    halt: Halt
    known: set[str]
    given: list[str] = field(default_factory=list)
    is_behind: bool = False

    def new_words(self) -> tuple[str, ...]:
        """Return what maintainers have written since, oldest first. Raises StoreUnavailable, Stopped."""
        self._hear()
        if not (self.desk.words.take_news(self.task) or self.is_behind):
            return ()
        try:
            comments = [each for each in self.forge.comments(self.task.issue) if each.id not in self.known]
            said = words_of_writers(self.task, self.forge, comments)
        except ForgeError as error:
            log.warning("comments not read", task=self.task.id, error=str(error))
            self.is_behind = True
            return ()
        self.is_behind = False
        self.known.update(each.id for each in comments)
        self.given += [each.id for each in comments]
        return said

    def _hear(self) -> None:
        """Decide what has been delivered; it may have been that the work is not wanted any more."""
        self.desk.clear()
        now = self.queue.task(self.task.id)
        if (now.state, now.generation) != (self.task.state, self.task.generation):
            self.halt.ask(Outcome.CANCELLED)
            raise Stopped("the attempt is no longer wanted")

    def take_given(self) -> list[str]:
        """Return the ids of comments that were given and stand in no record yet."""
        given, self.given = self.given, []
        return given


def known_at_first(comments: Sequence[Comment], records: Iterable[Mapping[str, object]]) -> Known:
    """Return what an attempt knows when it begins, or goes on after a restart.

    `comments` are those of which a new attempt is told at first.
    """
    now = [each.id for each in comments]
    heard = [record[HEARD] for record in records if isinstance(record.get(HEARD), list)]
    if heard:
        return Known({str(each) for ids in heard if isinstance(ids, list) for each in ids}, [], True)
    return Known(set(now), now, False)
