"""Writes the reference of the commands from what the service itself answers to `help`."""

from __future__ import annotations

from domain.events import COMMAND_PREFIX
from worker.answers import COMMANDS


def commands_page() -> str:
    """Return a Markdown table of every command."""
    rows = [f"| `{COMMAND_PREFIX} {usage}` | {what} |" for usage, what in COMMANDS.values()]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])
