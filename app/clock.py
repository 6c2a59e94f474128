"""The real clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's time, as `domain.ports.Clock` wants it."""

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back, also when somebody sets the clock."""
        return time.monotonic()
