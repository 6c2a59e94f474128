"""The small commands that the agent finds in its sandbox: edit, view and search."""

from __future__ import annotations

from pathlib import Path

COMMANDS = ("edit", "view", "search")


def directory() -> Path:
    """Return the directory that is mounted read-only at /opt/fixwright/bin."""
    return Path(__file__).resolve().parent
