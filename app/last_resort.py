"""Ends this process for certain, soon after it was asked to end, whatever its threads are waiting for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)

ABANDON_SECONDS = 0.5
"""How long giving the work back may take."""


class LastResort:
    """Armed when an orderly end begins; strikes when that takes longer than `seconds`.

    `abandon` gives back what is being worked on; it is called from a thread of its own, and not waited for
    longer than half a second. What the process had started is ended by the kernel with it.
    """

    def __init__(self, seconds: float, abandon: Callable[[], None]) -> None:
        self._seconds = seconds
        self._abandon = abandon
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def arm(self) -> None:
        """Begin to count. A second time changes nothing."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._seconds, self._strike)
                self._timer.daemon = True
                self._timer.start()

    def _strike(self) -> None:
        log.warning("the orderly end takes too long; leaving now", seconds=self._seconds)
        helper = threading.Thread(target=self._abandon, daemon=True)
        helper.start()
        helper.join(ABANDON_SECONDS)
        os._exit(0)
