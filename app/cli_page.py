"""Writes the reference of the command line from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import typer


class _Command(Protocol):
    """What is read of a command, whoever makes it, typer or click; a group has `commands`, too."""

    @property
    def help(self) -> str | None:
        """What it does."""

    @property
    def params(self) -> Sequence[object]:
        """Its arguments and options."""


def cli_page() -> str:
    """Return a section of Markdown for every command."""
    from app.cli import cli

    return "\n\n".join(_sections(typer.main.get_command(cli), "fixwright"))


def _sections(command: _Command, name: str) -> Iterator[str]:
    inner: Mapping[str, _Command] = getattr(command, "commands", {})
    for each in sorted(inner):
        yield from _sections(inner[each], f"{name} {each}")
    if inner:
        return
    words = [f"### `{name}`", _line(command.help or "")]
    rows = [_row(each) for each in command.params if getattr(each, "name", "") != "help"]
    if rows:
        words.append("\n".join(["| argument or option | default | meaning |", "|---|---|---|", *rows]))
    yield "\n\n".join(words)


def _row(parameter: object) -> str:
    opts: Sequence[str] = getattr(parameter, "opts", ())
    is_option = bool(opts) and opts[0].startswith("-")
    name = ", ".join(opts) if is_option else str(getattr(parameter, "name", "")).upper()
    given = getattr(parameter, "default", None)
    is_told = isinstance(given, str | int | float) and not isinstance(given, bool) and given != ""
    return f"| `{name}` | {f'`{given}`' if is_told else ''} | {_line(getattr(parameter, 'help', '') or '')} |"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
