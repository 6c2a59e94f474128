"""Where time comes from."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back."""
