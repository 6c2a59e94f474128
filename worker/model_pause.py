"""Leaves the model alone while its provider refuses the service's key: no task can do anything about that."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from domain.ports import Clock

log = structlog.get_logger(__name__)

FIRST_SECONDS = 60.0
LONGEST_SECONDS = 900.0


@dataclass(slots=True)
class ModelPause:
    """One for the worker. While it holds no task is claimed; then one is, to see whether the model answers.

    For one thread. It is not kept over a restart: the first task then tells.
    """

    clock: Clock
    _until: float | None = None
    _seconds: float = FIRST_SECONDS

    def refused(self, why: str) -> None:
        """Begin to pause, or pause for longer: the provider refuses. Said once, until it works again."""
        if self._until is None:
            log.error(
                "the model's provider refuses this service; no task is worked on until it answers again",
                problem=why,
            )
        else:
            self._seconds = min(LONGEST_SECONDS, self._seconds * 2)
        self._until = self.clock.monotonic() + self._seconds

    def worked(self) -> None:
        """End the pause: the model has answered."""
        if self._until is not None:
            log.info("the model's provider answers again; work goes on")
        self._until, self._seconds = None, FIRST_SECONDS

    @property
    def seconds_left(self) -> float:
        """How long the pause still holds, 0 where there is none or it is time to try."""
        return max(0.0, self._until - self.clock.monotonic()) if self._until is not None else 0.0
