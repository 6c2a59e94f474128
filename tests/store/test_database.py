"""The database: opened safely or refused clearly, and never left inside a transaction."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, StoreUnavailable
from store.database import WAL_LIMIT, Database, use_write_ahead_log

ROOT = Path(__file__).parents[2]


def test_file_is_private_and_durable(file_database: Database) -> None:
    assert isinstance(file_database.path, Path)
    with file_database.write() as connection:
        pragmas = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "journal_size_limit", "page_size")
        }
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "journal_size_limit": WAL_LIMIT,
        "page_size": 8192,
    }
    for file in file_database.path.parent.glob("fixwright.db*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_new_file_is_private_from_the_start(tmp_path: Path) -> None:
    with Database(tmp_path / "fixwright.db"):
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}

    assert modes == {0o600}


def test_open_file_is_closed_to_others_when_it_was_not(tmp_path: Path, template: Path) -> None:
    path = tmp_path / "fixwright.db"
    path.write_bytes(template.read_bytes())
    path.chmod(0o644)

    Database(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_missing_directory(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "fixwright.db"

    with pytest.raises(ConfigurationError, match=f"{path}.*there is no directory {path.parent}"):
        Database(path)


def test_path_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="this is a directory"):
        Database(tmp_path)


@pytest.mark.long
def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom store.database import Database\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "Database(Path('/usr/lib/fixwright.db'))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)

    assert run.stderr.endswith(
        "ConfigurationError: database /usr/lib/fixwright.db: the directory /usr/lib is not writable for this"
        " user\n"
    )


def test_file_system_without_shared_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.db"
    connection = sqlite3.connect(f"file:{path}?vfs=unix-none", uri=True)

    with pytest.raises(ConfigurationError, match=f"{path}: write-ahead logging cannot be used.*'delete'"):
        use_write_ahead_log(connection, path, 0.1)

    connection.close()


def test_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.db"
    path.write_text("these are notes, and long enough to have a header of their own" * 20)

    with pytest.raises(
        ConfigurationError, match=f"database {path}: cannot be opened: file is not a database"
    ):
        Database(path)


def test_error_rolls_back_and_leaves_no_transaction(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError), database.write() as connection:
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', NULL)")
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', NULL)")

    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM body_packs").fetchone()[0] == 0
    with database.write() as connection:
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', NULL)")


def test_references_that_dangle_are_refused(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"), database.write() as connection:
        connection.execute("INSERT INTO phases VALUES (1, 77, 'agent', 'now', 1.0, 0, '')")


def test_types_are_strict(database: Database) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT"), database.write() as connection:
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', 'text')")


def test_write_is_not_entered_twice(database: Database) -> None:
    with database.write(), pytest.raises(RuntimeError, match="already open"), database.write():
        pass


def test_reader_cannot_write(file_database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be written"), file_database.read() as connection:
        connection.execute("DELETE FROM body_packs")


def test_reader_sees_one_snapshot(file_database: Database) -> None:
    with file_database.read() as reader:
        count = "SELECT count(*) FROM body_packs"
        assert reader.execute(count).fetchone()[0] == 0
        with file_database.write() as writer:
            writer.execute("INSERT INTO body_packs VALUES (1, 'now', NULL)")
        assert reader.execute(count).fetchone()[0] == 0
    with file_database.read() as reader:
        assert reader.execute(count).fetchone()[0] == 1


def test_lock_held_too_long_is_a_deliberate_error_and_then_all_is_well(file_database: Database) -> None:
    assert isinstance(file_database.path, Path)
    stranger = sqlite3.connect(file_database.path, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")
    with Database(file_database.path, patience_seconds=0.05) as impatient:
        with pytest.raises(StoreUnavailable, match=f"{file_database.path}: it is locked"), impatient.write():
            pass
        with impatient.read() as connection:
            connection.execute("SELECT 1 FROM tasks").fetchall()
        stranger.execute("ROLLBACK")
        with impatient.write():
            pass
    stranger.close()


def test_full_disk_is_a_deliberate_error_and_then_all_is_well(file_database: Database) -> None:
    with file_database.write() as connection:
        connection.execute("PRAGMA max_page_count = 1").fetchone()
    with (
        pytest.raises(StoreUnavailable, match="the disk is full"),
        file_database.write() as connection,
    ):
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', zeroblob(9000000))")

    with file_database.write() as connection:
        connection.execute("PRAGMA max_page_count = 1000000").fetchone()
        assert connection.execute("SELECT count(*) FROM body_packs").fetchone()[0] == 0
        connection.execute("INSERT INTO body_packs VALUES (1, 'now', zeroblob(9000))")


@pytest.mark.long
def test_log_does_not_grow_behind_readers_and_is_cut_when_idle(file_database: Database) -> None:
    for number in range(1, 40):
        with file_database.write() as connection:
            connection.execute("INSERT INTO body_packs VALUES (?, 'now', randomblob(1000000))", (number,))
        with file_database.read() as connection:
            connection.execute("SELECT id FROM body_packs").fetchone()

    assert 0 < file_database.wal_bytes() < WAL_LIMIT
    assert file_database.checkpoint()
    assert file_database.wal_bytes() == 0


def test_checkpoint_says_when_a_reader_is_in_the_way(file_database: Database) -> None:
    with file_database.read() as reader:
        reader.execute("SELECT 1 FROM tasks").fetchall()
        with file_database.write() as connection:
            connection.execute("INSERT INTO body_packs VALUES (1, 'now', NULL)")
        assert not file_database.checkpoint()
    assert file_database.checkpoint()


def test_memory_needs_no_checkpoint() -> None:
    with Database(":memory:") as database:
        database.migrate()
        assert database.checkpoint()
        assert database.wal_bytes() == 0


def test_many_threads_share_one_database(database: Database) -> None:
    def work(first: int) -> None:
        for number in range(first, first + 10):
            with database.write() as connection:
                connection.execute("INSERT INTO body_packs VALUES (?, 'now', NULL)", (number,))
            with database.read() as connection:
                connection.execute("SELECT count(*) FROM body_packs").fetchone()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(0, 800, 100)))

    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM body_packs").fetchone()[0] == 80


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    database = Database(tmp_path / "fixwright.db")
    database.close()
    database.close()


def test_a_reference_to_nothing_is_found_as_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite3"
    with Database(path) as database:
        database.migrate()
        assert database.damage() == []
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO task_events VALUES (1, 77, '', 'admitted', NULL, 'queued', 0, NULL, '')"
        )
    with Database(path) as database:
        assert database.damage() == ["task_events row 1 refers to nothing in tasks"]


@pytest.mark.long
def test_a_log_that_is_left_to_another_program_is_never_moved_by_us(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.db"
    with Database(path, checkpoints=False) as database:
        database.migrate()
        with database.write() as connection:
            connection.execute("CREATE TABLE pages (content BLOB)")
        before = path.stat().st_size
        for _ in range(20):
            with database.write() as connection:
                connection.execute("INSERT INTO pages VALUES (randomblob(2000000))")
        assert database.checkpoint() is False
        assert database.wal_bytes() > 40_000_000 and path.stat().st_size == before
