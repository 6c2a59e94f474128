"""Listens for maintainers while the agent works: what each of them writes reaches it before its next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from domain.errors import ForgeError, Stopped
from domain.model import Comment, Outcome, Task
from domain.ports import Forge
from worker.halt import Halt
from worker.readiness import words_of_writers
from worker.signals import SignalDesk

log = structlog.get_logger(__name__)

HEARD = "heard"
"""Key of a step's record: ids of the comments that the agent was given before that step."""


@dataclass(slots=True)
class Listening:
    """Gives each comment once, also over restarts: what was given stands in the next step's record.

    `at_first` are the comments of which a new attempt is told in its brief. A forge that cannot be asked now
    is asked again before the next step.
    """

    task: Task
    forge: Forge
    desk: SignalDesk
    halt: Halt
    at_first: Sequence[Comment] = ()
    known: set[str] = field(default_factory=set)
    given: list[str] = field(default_factory=list)
    is_behind: bool = False

    def begin(self, records: Iterable[Mapping[str, object]]) -> None:
        """Note what the attempt knows at its beginning, or after a restart, by the records of its steps."""
        heard = [ids for record in records if isinstance(ids := record.get(HEARD), list)]
        self.given = [] if heard else [each.id for each in self.at_first]
        self.known = {str(each) for ids in heard for each in ids} | set(self.given)
        self.is_behind = bool(heard)

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
        now = self.desk.words.queue.task(self.task.id)
        if (now.state, now.generation) != (self.task.state, self.task.generation):
            self.halt.ask(Outcome.CANCELLED)
            raise Stopped("the attempt is no longer wanted")

    def take_given(self) -> list[str]:
        """Return the ids of comments that were given and stand in no record yet."""
        given, self.given = self.given, []
        return given
