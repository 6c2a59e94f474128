"""`fixwright spend`: every figure is the ledger's, open calls are marked, and nothing is written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from app.spend import spend
from domain.errors import ConfigurationError, StoreUnavailable
from domain.model import Attempt, Money, Price, Task, Usage
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.migrate import apply, known_migrations
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, SetClock, running_task

PRICE = Price(input=Money("0.000001"), output=Money("0.000001"))
Show = Callable[..., str]


class Books:
    """A data directory with a ledger in it, and a worker that still has it open."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "fixwright.sqlite3"
        self.database = Database(self.path)
        self.database.migrate()
        self.clock = SetClock()
        self.ledger = SqliteLedger(self.database, self.clock)
        self.queue = SqliteTaskQueue(self.database, self.clock)
        self.inbox = SqliteInbox(self.database, CATEGORIES)

    def attempt(self, issue: int) -> tuple[Task, Attempt]:
        task = running_task(self.inbox, self.queue, issue)
        return task, self.queue.begin_attempt(task)

    def call(
        self, work: tuple[Task, Attempt], dollars: str, *, lost: bool = False, guess: bool = False
    ) -> None:
        price = Price(input=PRICE.input, output=PRICE.output, estimated=guess)
        held = self.ledger.reserve(
            *work, model="house/large", price=price, decide=lambda spent: (100, Money(dollars))
        )
        if not lost:
            usage = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=3)
            self.ledger.settle(held, usage=usage, cost=Money(dollars), billed=None)


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    return Books(tmp_path)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    clock = SetClock()

    def run(*, repository: str = "", day: str = "", as_json: bool = False) -> str:
        spend(repository=repository, day=day, as_json=as_json, clock=clock)
        return capsys.readouterr().out

    return run


def filled(books: Books) -> Books:
    first = books.attempt(1)
    books.call(first, "0.25")
    books.call(first, "0.5", lost=True)
    books.clock.forward(hours=13)
    books.call(books.attempt(2), "0.0000001", guess=True)
    return books


def test_lines_are_by_day_and_task_and_mark_what_is_open_or_estimated(books: Books, show: Show) -> None:
    filled(books)
    rows = [line.split("\t") for line in show().splitlines()]
    assert rows[0][0] == "day"
    new, old = rows[1:3]
    assert new == [
        *("2026-03-02", "local:octo/lamp", "#2", "2", "house/large", "1", "13", "5"),
        *("$0.0000001 (estimate)", "-"),
    ]
    assert old[:6] == ["2026-03-01", "local:octo/lamp", "#1", "1", "house/large", "2"]
    assert old[-2:] == ["$0.7500", "$0.5000 in 1"]
    assert rows[3] == ["$0.7500 in all"]
    assert rows[4][0].startswith("open: set aside")


@pytest.mark.parametrize(
    ("repository", "day", "spent"),
    [
        ("", "", "0.750000100"),
        ("octo/lamp", "", "0.750000100"),
        ("local:Octo/Lamp", "2026-03-01", "0.750000000"),
        ("", "2026-03-02", "1.00E-7"),
        ("octo/other", "", "0"),
        ("", "2026-03-09", "0"),
    ],
)
def test_json_is_the_same_figures_filtered(
    books: Books, show: Show, repository: str, day: str, spent: str
) -> None:
    filled(books)
    document = json.loads(show(repository=repository, day=day, as_json=True))
    assert Money(document["spent"]) == Money(spent)
    assert sum(Money(line["spent"]) for line in document["lines"]) == Money(spent)
    if document["lines"]:
        assert document["lines"][0].keys() >= {"day", "repository", "issue", "task", "model", "open_amount"}


def test_today_s_caps_are_what_is_left_of_the_settings(
    books: Books, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_MAX_DAILY_COST_USD", "0.30")
    books.call(books.attempt(1), "0.25")
    caps = json.loads(show(as_json=True))["caps_today"]
    assert caps["service"] == {"spent": "0.250000000", "cap": "20.000000000", "left": "19.750000000"}
    assert Money(caps["repositories"]["local:octo/lamp"]["left"]) == Money("0.05")
    assert "today (2026-03-01 UTC), local:octo/lamp: $0.2500 of $0.3000 spent, $0.0500 left" in show()


def test_wrong_settings_take_the_caps_away_and_not_the_figures(
    books: Books, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(books)
    monkeypatch.setenv("FIXWRIGHT_MAX_DAILY_COST_USD", "unlimited")
    assert json.loads(show(as_json=True))["caps_today"] is None
    assert "left" not in show()


def test_it_reads_beside_a_writer_and_writes_nothing(books: Books, show: Show) -> None:
    filled(books)
    with books.database.write() as connection:
        before = connection.total_changes
        assert "$0.7500 in all" in show()
        assert connection.total_changes == before


@pytest.mark.parametrize(
    ("words", "option", "value"),
    [
        ("--day: 'yesterday' is not a day", "day", "yesterday"),
        ("--day: '20260301' is not a day", "day", "20260301"),
        ("--day: '2026-02-30' is not a day", "day", "2026-02-30"),
        ("--repo: 'lamp' is no repository", "repository", "lamp"),
    ],
)
def test_a_wrong_filter_is_one_line(books: Books, show: Show, words: str, option: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        show(**{option: value})
    assert "\n" not in str(caught.value)


def test_nothing_spent_is_said(books: Books, show: Show) -> None:
    assert show().startswith("Nothing was spent.\n")


def test_no_database_is_said_in_one_line(show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path / "absent"))
    with pytest.raises(ConfigurationError, match="there is none; FIXWRIGHT_DATA_DIR"):
        show()
    assert not (tmp_path / "absent").exists()


def test_what_is_no_database_or_an_old_one_is_refused(
    show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    path = tmp_path / "fixwright.sqlite3"
    path.write_text("nothing of the kind " * 100)
    with pytest.raises((ConfigurationError, StoreUnavailable), match="is not one"):
        show()
    path.unlink()
    connection = sqlite3.connect(path, isolation_level=None)
    apply(connection, known_migrations()[:2])
    connection.close()
    with pytest.raises(ConfigurationError, match="older version"):
        show()
