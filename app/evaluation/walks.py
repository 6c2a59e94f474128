"""The ways through a history in search of fixes."""

from __future__ import annotations

from enum import StrEnum


class Walk(StrEnum):
    """Which commits are looked at."""

    FIXES = "fixes"
    """Those of the main line (a merged branch is one step) whose message speaks of a bug."""
    MAIN = "main"
    """Those of the main line, whatever their message says."""
    ALL = "all"
    """Every commit but merges, whatever its message says."""
