"""Which turn a waiting task has: its place in the queue, as things stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.model import Task
from domain.states import State

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The `place`-th (from 1) of so many waiting tasks, all repositories together."""

    place: int
    of: int

    @property
    def ahead(self) -> int:
        """How many tasks are claimed before this one, as things stand."""
        return self.place - 1

    @property
    def in_words(self) -> str:
        """Write it as "2nd of 5"."""
        return f"{ordinal(self.place)} of {self.of}"


def turn_of(task: Task, tasks: Iterable[Task]) -> Turn:
    """Return a task's turn among those of `tasks` that wait."""
    waiting = [each for each in tasks if each.state is State.QUEUED and each.id != task.id]
    before = sum(1 for each in waiting if _turn(each) < _turn(task))
    return Turn(place=before + 1, of=len(waiting) + 1)


def ordinal(number: int) -> str:
    """Write a count as English does: 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _turn(task: Task) -> tuple[datetime, int]:
    return task.not_before or _LONG_AGO, task.id
