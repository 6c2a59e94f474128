"""A request to stop that lasts, and that wakes whoever waits for something slow."""

from __future__ import annotations

import os


class StopSignal:
    """A lasting request to stop, that any thread may make and that wakes whoever waits."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.requested = False

    def request(self) -> None:
        """Ask for the stop. Safe from a signal handler."""
        self.requested = True
        os.eventfd_write(self._descriptor, 1)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable with the request."""
        return self._descriptor

    def __del__(self) -> None:
        # Not with the session: a late request must never write to a descriptor that is somebody else's now.
        os.close(self._descriptor)
