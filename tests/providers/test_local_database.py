"""The embedded forge's SQLite file: made once, shared by processes, refused when it is not one."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, ForgeError, ForgeUnavailable
from domain.model import Actor, IssueRef, Repository
from providers.local.database import Database
from providers.local.people import LocalWorld


def test_many_openers_at_once_make_one_database(tmp_path: Path) -> None:
    start = threading.Barrier(8)

    def open_and_join(number: int) -> Actor:
        start.wait(10)
        return LocalWorld(tmp_path / "forge").create_user(f"user-{number}")

    with ThreadPoolExecutor(8) as pool:
        users = list(pool.map(open_and_join, range(8)))
    assert len({user.id for user in users}) == 8


def test_many_writers_at_once_lose_nothing(
    world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor
) -> None:
    start = threading.Barrier(4)

    def write(writer: int) -> None:
        start.wait(10)
        own = LocalWorld(world.root)
        for number in range(10):
            own.comment(issue, rosa, f"{writer}-{number}")
            own.open_issue(repository.id, rosa, title=f"{writer}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(world.comments(issue)) == 40
    assert sorted(found.number for found in world.issues(repository.id)) == list(range(1, 42))
    assert len({record.guid for record in world.deliveries()}) == 81


def test_the_journal_is_a_write_ahead_log(world: LocalWorld) -> None:
    connection = sqlite3.connect(world.root / "forge.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_block_that_raises_leaves_no_trace(tmp_path: Path) -> None:
    opened = Database(tmp_path / "forge.db")
    with pytest.raises(RuntimeError), opened.write() as connection:
        connection.execute("INSERT INTO users (login) VALUES ('half')")
        raise RuntimeError("in the middle")
    with opened.read() as connection:
        assert connection.execute("SELECT count(*) FROM users").fetchone()[0] == 1, "only the bot"


def test_a_reader_cannot_write_over_a_writer_it_did_not_see(tmp_path: Path) -> None:
    opened = Database(tmp_path / "forge.db")
    with opened.read() as before:
        count = "SELECT count(*) FROM users"
        assert before.execute(count).fetchone()[0] == 1
        with opened.write() as connection:
            connection.execute("INSERT INTO users (login) VALUES ('late')")
        assert before.execute(count).fetchone()[0] == 1, "a reader sees one moment"


def test_a_database_that_stays_busy_is_unavailable(tmp_path: Path) -> None:
    opened = Database(tmp_path / "forge.db", busy_seconds=0.01)
    with opened.write(), pytest.raises(ForgeUnavailable, match="locked"), opened.write():
        pass


def test_a_broken_rule_is_a_refusal(tmp_path: Path) -> None:
    opened = Database(tmp_path / "forge.db")
    with pytest.raises(ForgeError, match="refused"), opened.write() as connection:
        connection.execute("INSERT INTO permissions VALUES (1, 1, 'god')")


def test_an_earlier_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    Database(tmp_path / "forge.db")
    connection = sqlite3.connect(tmp_path / "forge.db")
    connection.executescript(
        "DROP TABLE checks; DROP TABLE thread_comments; DROP TABLE threads; DROP TABLE reviews;"
        "DROP TABLE review_requests;"
        "DELETE FROM sqlite_sequence WHERE name IN ('checks', 'reviews', 'threads', 'thread_comments');"
        "PRAGMA user_version = 1;"
    )
    connection.close()
    with Database(tmp_path / "forge.db").read() as reading:
        assert reading.execute("SELECT count(*) FROM checks").fetchone()[0] == 0


def test_another_schema_is_refused_with_a_way_out(tmp_path: Path) -> None:
    Database(tmp_path / "forge.db")
    connection = sqlite3.connect(tmp_path / "forge.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigurationError, match=r"schema 99.*fresh directory"):
        Database(tmp_path / "forge.db")


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "forge.db").write_bytes(b"something else entirely" * 100)
    with pytest.raises(ConfigurationError, match=r"forge\.db"):
        Database(tmp_path / "forge.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError):
        Database(tmp_path / "file" / "forge.db")
