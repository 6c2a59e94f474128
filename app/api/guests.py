"""What guests of the open API may still ask for: so many runs at once, so many dollars a day."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from app.api.problems import Problem
from domain.budget import show_money, utc_day
from domain.model import Money
from domain.ports import Clock
from store.guest_runs import GuestRuns

MOST_ASKED_PER_HOUR = 30
"""Requests of all guests together: each costs the worker a look at the forge, whatever comes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestCaps:
    """The operator's caps for guests. The worker holds every guest's attempt to the dollars as well."""

    runs: GuestRuns
    clock: Clock
    most_runs: int
    daily_usd: Money
    asked: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_ASKED_PER_HOUR))
    """When they asked, by the clock that never goes back; kept by this process alone."""
    _coming: list[object] = field(default_factory=list)
    """Runs that were let in, and are not written down yet: many may ask in the same moment."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self) -> Callable[[], None]:
        """Refuse one run more where there is no room; else count it. Raises Problem, StoreUnavailable.

        What is returned is to be called when the run is written down, or will not be; a second time is fine.
        """
        with self._lock:
            self._check()
            place = object()
            self._coming.append(place)

        def release() -> None:
            with self._lock, suppress(ValueError):
                self._coming.remove(place)

        return release

    def _check(self) -> None:
        now = self.clock.monotonic()
        if len(self.asked) == MOST_ASKED_PER_HOUR and now - self.asked[0] < 3600:
            raise _full(
                "asked_too_often",
                f"Guests have asked {MOST_ASKED_PER_HOUR} times within an hour",
                "Try again later.",
            )
        if self.runs.under_way() + len(self._coming) >= self.most_runs:
            raise _full(
                "too_many_runs",
                f"{self.most_runs} runs of guests are under way, which is the most at once",
                "Try again when one of them has ended.",
            )
        if self.runs.spent_on(utc_day(self.clock.now())) >= self.daily_usd:
            raise _full(
                "spent_for_today",
                f"Guests have spent today's {show_money(self.daily_usd)}",
                "Try again after midnight UTC.",
            )
        self.asked.append(now)


def _full(name: str, problem: str, way_out: str) -> Problem:
    return Problem(
        HTTPStatus.TOO_MANY_REQUESTS, name, f"{problem}.", way_out=way_out, headers={"Retry-After": "600"}
    )
