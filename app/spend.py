"""`fixwright spend`: the ledger as a table, as plain lines, or as JSON, with what today's caps leave."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.settings import CommonSettings, data_directory_alone, load_common_settings
from domain.budget import QUANTUM, ZERO, show_money, utc_day
from domain.errors import ConfigurationError
from domain.model import Money
from domain.ports import Clock
from domain.text import one_line
from store.spend import SpendLine, read_spend

_REPOSITORY = re.compile(r"(?:[a-z][a-z0-9-]*:)?[\w.-]+(?:/[\w.-]+)+")
_HEADINGS = ("day", "repository", "issue", "task", "model", "calls", "tokens in", "out", "spent", "open")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a daily cap leaves today; dollars."""

    spent: Money
    cap: Money

    @property
    def left(self) -> Money:
        """Never below 0."""
        return max(ZERO, self.cap - self.spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """Today's caps: of the whole service, and of each repository that spent something today."""

    service: Room
    repositories: dict[str, Room]


def spend(*, repository: str, day: str, as_json: bool, clock: Clock) -> None:
    """Print what was spent. Raises ConfigurationError, StoreUnavailable."""
    today = utc_day(clock.now())
    try:
        settings: CommonSettings | None = load_common_settings()
    except ConfigurationError as error:
        settings = None
        sys.stderr.write(f"fixwright: today's caps are not shown, since settings are wrong: {error}\n")
    path = settings.database_path if settings else data_directory_alone() / "fixwright.sqlite3"
    lines = read_spend(path, day=_wanted_day(day, today), repository=_wanted_repository(repository))
    caps = _today(path, today, settings) if settings else None
    if as_json:
        sys.stdout.write(json.dumps(_document(today, lines, caps), indent=2) + "\n")
    elif sys.stdout.isatty():
        _show_table(today, lines, caps)
    else:
        sys.stdout.write(_plain(today, lines, caps))


def _wanted_day(day: str, today: str) -> str | None:
    if not day or day == "today":
        return today if day else None
    try:
        if len(day) == len(today):
            return date.fromisoformat(day).isoformat()
    except ValueError:
        pass
    raise ConfigurationError(f"--day: {day[:40]!a} is not a day; for example --day {today}, or today (UTC)")


def _wanted_repository(name: str) -> str | None:
    if not name:
        return None
    if not _REPOSITORY.fullmatch(name):
        raise ConfigurationError(f"--repo: {name[:80]!a} is no repository; for example --repo acme/shop")
    return name


def _today(path: Path, today: str, settings: CommonSettings) -> Today:
    spent: dict[str, Money] = {}
    for line in read_spend(path, day=today):
        spent[line.repository] = spent.get(line.repository, ZERO) + line.spent
    return Today(
        service=Room(spent=sum(spent.values(), ZERO), cap=settings.max_daily_cost_total_usd),
        repositories={
            name: Room(spent=amount, cap=settings.max_daily_cost_usd) for name, amount in spent.items()
        },
    )


def _document(today: str, lines: Sequence[SpendLine], caps: Today | None) -> dict[str, object]:
    """Return what `--json` prints; its fields are documented in docs/reference/money.md."""
    rows = [
        {name: _amount(value) if isinstance(value, Money) else value for name, value in asdict(line).items()}
        for line in lines
    ]
    return {
        "today": today,
        "lines": rows,
        "spent": _amount(_total(lines)),
        "open_amount": _amount(sum((line.open_amount for line in lines), ZERO)),
        "caps_today": None
        if caps is None
        else {
            "service": _room(caps.service),
            "repositories": {name: _room(room) for name, room in caps.repositories.items()},
        },
    }


def _room(room: Room) -> dict[str, str]:
    return {"spent": _amount(room.spent), "cap": _amount(room.cap), "left": _amount(room.left)}


def _amount(dollars: Money) -> str:
    """Write an amount for programs: all nine decimals."""
    return f"{dollars.quantize(QUANTUM):f}"


def _total(lines: Iterable[SpendLine]) -> Money:
    return sum((line.spent for line in lines), ZERO)


def _cells(line: SpendLine) -> tuple[str, ...]:
    read = line.input_tokens + line.cache_read_tokens + line.cache_write_tokens
    waiting = f"{show_money(line.open_amount)} in {line.open_calls}" if line.open_calls else "-"
    return (
        line.day,
        one_line(line.repository, 80),
        f"#{line.issue}",
        str(line.task),
        one_line(line.model, 60),
        str(line.calls),
        str(read),
        str(line.output_tokens),
        show_money(line.spent) + (" (estimate)" if line.estimated else ""),
        waiting,
    )


def _notes(today: str, lines: Sequence[SpendLine], caps: Today | None) -> list[str]:
    notes = [f"{show_money(_total(lines))} in all"] if lines else ["Nothing was spent."]
    if any(line.open_calls for line in lines):
        notes.append("open: set aside for calls whose end is not known, and counted as spent")
    if caps is not None:
        rooms = [("all repositories", caps.service), *sorted(caps.repositories.items())]
        notes += [
            f"today ({today} UTC), {one_line(name, 80)}: {show_money(room.spent)} of {show_money(room.cap)} "
            f"spent, {show_money(room.left)} left"
            for name, room in rooms
        ]
    return notes


def _plain(today: str, lines: Sequence[SpendLine], caps: Today | None) -> str:
    rows = [_HEADINGS, *map(_cells, lines)] if lines else []
    return "".join(f"{line}\n" for line in ["\t".join(row) for row in rows] + _notes(today, lines, caps))


def _show_table(today: str, lines: Sequence[SpendLine], caps: Today | None) -> None:
    console = Console()
    if lines:
        table = Table(box=None, pad_edge=False)
        for heading in _HEADINGS:
            table.add_column(
                heading, justify="left" if heading in _HEADINGS[:5] else "right", overflow="fold"
            )
        for line in lines:
            table.add_row(*(Text(cell) for cell in _cells(line)))
        console.print(table)
    for note in _notes(today, lines, caps):
        console.print(Text(note))
