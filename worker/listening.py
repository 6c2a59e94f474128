"""Listens for maintainers while the agent works: what each of them writes reaches it before its next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from domain.errors import ForgeError
from domain.model import Comment, Task
from domain.ports import Forge
from worker.readiness import words_of_writers
from worker.signals import SignalDesk

log = structlog.get_logger(__name__)

HEARD = "heard"
"""Key of a step's record: ids of the comments that the agent was given before that step."""


@dataclass(slots=True, kw_only=True)
class Listening:
    """Gives each comment once, also over restarts: what was given stands in the next step's record.

    A forge that cannot be asked now is asked again after the next step.
    """

    task: Task
    forge: Forge
    desk: SignalDesk
    known: set[str]
    given: list[str] = field(default_factory=list)
    is_behind: bool = False

    def new_words(self) -> tuple[str, ...]:
        """Return what maintainers have written since, oldest first. Raises StoreUnavailable."""
        self.desk.clear()
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

    def take_given(self) -> list[str]:
        """Return the ids of comments that were given and stand in no record yet."""
        given, self.given = self.given, []
        return given


def begun(
    task: Task,
    forge: Forge,
    desk: SignalDesk,
    comments: Sequence[Comment],
    records: Iterable[Mapping[str, object]],
) -> Listening:
    """Begin, or go on after a restart. `comments` are those of which a new attempt is told at first."""
    now = [each.id for each in comments]
    heard = [record[HEARD] for record in records if isinstance(record.get(HEARD), list)]
    if heard:
        known = {str(each) for ids in heard if isinstance(ids, list) for each in ids}
        return Listening(task=task, forge=forge, desk=desk, known=known, is_behind=True)
    return Listening(task=task, forge=forge, desk=desk, known=set(now), given=now)
