"""The one way to end a running attempt early: say why once, and everything that waits is told."""

from __future__ import annotations

import threading
from collections.abc import Callable

from domain.model import Outcome


class Halt:
    """A stop that is asked for at most once; the first reason stands."""

    def __init__(self) -> None:
        # One lock for all: a listener that is told at once may itself ask.
        self._lock = threading.RLock()
        self._outcome: Outcome | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def outcome(self) -> Outcome | None:
        """INTERRUPTED or CANCELLED once asked for, None before."""
        return self._outcome

    def on_ask(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the stop is asked for, at once if it was already."""
        with self._lock:
            self._listeners.append(listener)
            asked = self._outcome is not None
        if asked:
            listener()

    def ask(self, outcome: Outcome) -> None:
        """Ask for the stop, from any thread."""
        with self._lock:
            if self._outcome is not None:
                return
            self._outcome = outcome
            listeners = list(self._listeners)
        for listener in listeners:
            listener()
