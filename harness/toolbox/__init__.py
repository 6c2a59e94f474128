"""The small commands in the agent's sandbox: edit, view, search, and what runs words as they are."""

from __future__ import annotations

from pathlib import Path

TOOLBOX = Path(__file__).resolve().parent
"""The directory that is mounted read-only at /opt/fixwright/bin."""

COMMANDS = ("edit", "view", "search")
"""Those that the agent is told of."""
