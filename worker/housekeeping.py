"""What a worker does between tasks, a bit at a time: each chore in short steps, so that the bell is heard."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog

from domain.errors import FixwrightError
from domain.ports import Clock

log = structlog.get_logger(__name__)

BUDGET_SECONDS = 1.0
"""How long one bit of housekeeping goes on, give or take the step that is under way."""

Steps = Iterator[float]
"""Short steps of work; each yields how many seconds the next one may wait, 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something to be done at start and every so many seconds; `steps` begins a new round of it."""

    name: str
    every_seconds: float
    steps: Callable[[], Steps]


class Housekeeping:
    """Goes through the chores that are due, one after another; for one thread."""

    def __init__(self, chores: Sequence[Chore], clock: Clock, budget_seconds: float = BUDGET_SECONDS) -> None:
        """`budget_seconds` bounds one `keep`. The chores' order is the order in which they are begun."""
        self._clock = clock
        self._budget = budget_seconds
        self._due = [(clock.monotonic(), chore) for chore in chores]
        self._doing: tuple[Chore, Steps] | None = None

    def keep(self) -> float:
        """Do a bit of what is due; return the seconds after which there is more to do, at the earliest.

        A chore that fails is left until it is due again.
        """
        until = self._clock.monotonic() + self._budget
        while True:
            if self._doing is None and not self._begin():
                return self._seconds_to_next()
            pause = self._step()
            if pause > 0:
                return pause
            if self._clock.monotonic() >= until:
                return 0.0

    def _begin(self) -> bool:
        now = self._clock.monotonic()
        for position, (due, chore) in enumerate(self._due):
            if due <= now:
                self._due[position] = (now + chore.every_seconds, chore)
                self._doing = (chore, chore.steps())
                return True
        return False

    def _step(self) -> float:
        assert self._doing is not None, "called with a chore at hand"
        chore, steps = self._doing
        try:
            return next(steps)
        except StopIteration:
            log.debug("chore done", chore=chore.name)
        except (FixwrightError, OSError) as error:
            log.warning("chore left for the next time", chore=chore.name, error=str(error))
        except Exception:
            log.exception("chore failed", chore=chore.name)
        self._doing = None
        return 0.0

    def _seconds_to_next(self) -> float:
        now = self._clock.monotonic()
        return max(0.0, min((due - now for due, _ in self._due), default=float("inf")))
