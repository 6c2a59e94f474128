"""Backup and restore: consistent beside writers, whole or not at all, and never under a running service."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, StoreUnavailable
from store.backup import back_up, restore
from store.database import Database
from store.inbox import SqliteInbox
from store.migrate import apply, known_migrations
from store.presence import alone
from store.tasks import SqliteTaskQueue
from tests.small_disk import small_disk
from tests.store.makers import CATEGORIES, NOON, SetClock, admit_task, delivery, labelled, policy

MOMENT = datetime(2026, 3, 2, 8, 30, 1, tzinfo=UTC)


def filled(path: Path, tasks: int = 3) -> None:
    with Database(path) as database:
        database.migrate()
        inbox, queue = SqliteInbox(database, CATEGORIES), SqliteTaskQueue(database, SetClock())
        for number in range(1, tasks + 1):
            admit_task(inbox, queue, number)


def titles(path: Path) -> int:
    with Database(path) as database:
        return len(SqliteTaskQueue(database, SetClock()).tasks())


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def live(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "fixwright.sqlite3"
    path.parent.mkdir()
    filled(path)
    return path


def test_a_copy_holds_everything_and_is_for_its_owner_alone(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copies" / "one.sqlite3"
    copy.parent.mkdir()

    contents = back_up(live, copy, replace=False)

    assert (contents.tasks, contents.live_tasks, contents.deliveries, contents.attempts) == (3, 3, 3, 0)
    assert contents.bytes == copy.stat().st_size and contents.newest == NOON
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert names(copy.parent) == ["one.sqlite3"], "one file, nothing beside it"
    assert titles(copy) == 3


def test_a_copy_is_of_one_moment_while_others_write(live: Path, tmp_path: Path) -> None:
    stop, number = threading.Event(), 100
    with Database(live) as database:
        inbox = SqliteInbox(database, CATEGORIES)

        def write() -> None:
            nonlocal number
            while not stop.is_set():
                batch = [delivery(labelled(number + n), f"w-{number + n}") for n in range(2)]
                inbox.accept(batch, policy)
                number += 2

        writer = threading.Thread(target=write)
        writer.start()
        try:
            counts = [back_up(live, tmp_path / "copy", replace=True) for _ in range(8)]
        finally:
            stop.set()
            writer.join()
    assert [each.tasks for each in counts] == [each.deliveries for each in counts]
    assert all((each.tasks - 3) % 2 == 0 for each in counts), "no half of a transaction"
    assert sorted(each.tasks for each in counts) == [each.tasks for each in counts]


def test_a_copy_replaces_nothing_unless_told_to(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_text("precious")
    with pytest.raises(ConfigurationError, match="is there already; choose another name, or give --force"):
        back_up(live, copy, replace=False)
    assert copy.read_text() == "precious"
    assert back_up(live, copy, replace=True).tasks == 3
    with pytest.raises(ConfigurationError, match="is there already"):
        back_up(live, tmp_path, replace=True)
    with pytest.raises(ConfigurationError, match="there is none"):
        back_up(tmp_path / "nothing", tmp_path / "x", replace=True)


def test_a_copy_that_finds_no_room_leaves_nothing_behind(live: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 1) as disk:
        disk.fill(leave=20_000)
        before = names(disk.path)
        with pytest.raises(StoreUnavailable, match="nothing was changed"):
            back_up(live, disk.path / "copy", replace=False)
        assert names(disk.path) == before


def test_a_restore_brings_the_copy_back_and_keeps_the_old_file(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    filled(live, tasks=9)

    contents, aside = restore(copy, live, MOMENT)

    assert contents.tasks == 3 and titles(live) == 3
    assert aside == live.with_name("fixwright.sqlite3.before-20260302T083001Z") and titles(aside) == 9
    assert stat.S_IMODE(live.stat().st_mode) == 0o600
    assert copy.exists() and names(copy.parent) == ["copy", "data"]


def test_a_restore_needs_no_database_to_be_there(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    new = tmp_path / "new" / "fixwright.sqlite3"
    new.parent.mkdir()
    assert restore(copy, new, MOMENT)[1] is None
    assert titles(new) == 3


def test_a_restore_is_refused_while_anybody_has_the_database_open(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    with Database(live), pytest.raises(ConfigurationError, match="it is in use; stop `fixwright serve`"):
        restore(copy, live, MOMENT)
    assert titles(live) == 3
    restore(copy, live, MOMENT)


def test_a_database_under_restore_is_not_opened(live: Path) -> None:
    with alone(live), pytest.raises(ConfigurationError, match="a restore is under way"):
        Database(live)


def damaged(copy: Path) -> None:
    content = bytearray(copy.read_bytes())
    content[8192 * 3 : 8192 * 5] = os.urandom(8192 * 2)
    copy.write_bytes(content)


def newer(copy: Path) -> None:
    with sqlite3.connect(copy) as connection:
        connection.execute("PRAGMA user_version = 99")


def foreign(copy: Path) -> None:
    copy.unlink()
    with sqlite3.connect(copy) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")


def no_database(copy: Path) -> None:
    copy.write_text("a letter" * 1000)


def absent(copy: Path) -> None:
    copy.unlink()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (damaged, "damaged|malformed|cannot be read"),
        (newer, "its schema is 99, and this version of Fixwright knows only"),
        (foreign, "not a database of Fixwright"),
        (no_database, "cannot be read as a database"),
        (absent, "there is no such file"),
    ],
)
def test_a_copy_that_will_not_do_changes_nothing(
    live: Path, tmp_path: Path, spoil: object, words: str
) -> None:
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    assert callable(spoil)
    spoil(copy)
    before = names(live.parent)

    with pytest.raises(ConfigurationError, match=words) as caught:
        restore(copy, live, MOMENT)

    assert "\n" not in str(caught.value)
    assert names(live.parent) == before and titles(live) == 3


def test_the_database_is_no_copy_of_itself(live: Path) -> None:
    with pytest.raises(ConfigurationError, match="the database itself"):
        restore(live, live, MOMENT)


def test_an_old_files_log_never_meets_the_new_one(live: Path, tmp_path: Path) -> None:
    """The service was killed: its write-ahead log still holds what is not in the file."""
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    database = Database(live)
    admit_task(SqliteInbox(database, CATEGORIES), SqliteTaskQueue(database, SetClock()), 77)
    killed = {
        path.name: path.read_bytes() for path in live.parent.glob("*sqlite3*") if path.suffix != ".in-use"
    }
    database.close()
    for name, content in killed.items():
        (live.parent / name).write_bytes(content)
    assert live.with_name(live.name + "-wal").stat().st_size > 0

    _, aside = restore(copy, live, MOMENT)

    assert aside is not None and titles(aside) == 4 and titles(live) == 3


def test_a_damaged_old_file_goes_aside_with_its_log(live: Path, tmp_path: Path) -> None:
    copy, log = tmp_path / "copy", live.with_name(live.name + "-wal")
    back_up(live, copy, replace=False)
    live.write_bytes(b"lost " * 4000)
    log.write_bytes(b"its log")

    _, aside = restore(copy, live, MOMENT)

    assert aside is not None and aside.with_name(aside.name + "-wal").read_bytes() == b"its log"
    assert not log.exists() and titles(live) == 3


def test_an_older_copy_is_brought_up_to_date_at_the_next_start(tmp_path: Path) -> None:
    copy, live = tmp_path / "copy", tmp_path / "fixwright.sqlite3"
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    apply(connection, known_migrations()[:1])
    connection.execute("COMMIT")
    connection.close()

    assert restore(copy, live, MOMENT)[0].schema == 1
    with Database(live) as database:
        assert database.migrate() == len(known_migrations())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
def test_root_restores_for_the_user_who_runs_the_service(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    back_up(live, copy, replace=False)
    os.chown(live.parent, 4321, 4321)
    live.with_name(live.name + ".in-use").unlink()

    restore(copy, live, MOMENT)

    assert (live.stat().st_uid, live.with_name(live.name + ".in-use").stat().st_uid) == (4321, 4321)
