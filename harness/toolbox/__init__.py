"""The small commands that the agent finds in its sandbox: edit, view and search."""

from __future__ import annotations

from pathlib import Path

TOOLBOX = Path(__file__).resolve().parent
"""The directory that is mounted read-only at /opt/fixwright/bin."""

COMMANDS = ("edit", "view", "search")
