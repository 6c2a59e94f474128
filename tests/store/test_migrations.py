"""Two proofs: the schema is the sum of the migrations, and each runs on a database with rows in it."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from store.database import Database
from store.migrate import Migration, apply, known_migrations, schema_text, split_statements

ROWS_OF_0001 = """
    INSERT INTO tasks (id, forge, repository_id, issue_number, repository_name, category, requester_id,
        requester_login, requester_is_bot, state, lease_until, created_at, updated_at, title, body)
    VALUES (1, 'local', '501', 12, 'octo/lamp', 'bug', '7', 'ada', 0, 'running', 't', 't', 't', 'dark', '');
    INSERT INTO task_events (task_id, at, trigger, to_state, generation, detail)
    VALUES (1, 't', 'admitted', 'queued', 0, '');
    INSERT INTO body_packs VALUES (1, 't', x'00');
    INSERT INTO deliveries VALUES
        (1, 'local', 'd', 'h', 't', 'IssueLabelled', '501', 12, 'ada', 'bug', 'queued', 1, 1, 0, 1);
    INSERT INTO signals (delivery, task_id, kind, event) VALUES (1, 1, 'IssueClosed', '{}');
    INSERT INTO attempts (id, task_id, number, generation, started_at) VALUES (1, 1, 1, 1, 't');
    INSERT INTO phases VALUES (1, 1, 'agent', 't', 1.5, 7, '');
    INSERT INTO publications
        (task_id, attempt_id, kind, branch, commit_sha, tree, expected_sha, title, created_at, body)
    VALUES (1, 1, 'pull', 'b', 'c', 't', '', 'x', 't', '');
"""
ROWS_OF_0002 = """
    INSERT INTO ledger
        (id, task_id, attempt_id, forge, repository_id, day, at, model, amount, max_output_tokens)
    VALUES (1, 1, 1, 'local', '501', '2026-03-01', 't', 'm', 5, 1);
"""
ROWS_OF_0003 = """
    INSERT INTO cap_raises VALUES (1, 2000000000, '7', 'ada', 'c1', 't');
"""
ROWS_OF_0004 = """
    INSERT INTO receipts (sha256, previous, attempt_id, outcome, tree, at, envelope)
    VALUES ('aa', '', 1, 'verified', 't', 't', x'7b7d');
"""
ROWS_OF_0005 = f"""
    INSERT INTO allowances VALUES (1, 1, '{"a" * 40}', '7', 'ada', 'c2', 't');
"""
ROWS_OF_0006 = f"""
    INSERT INTO allowances VALUES (2, 1, 'RH002-{"a" * 16}', '7', 'ada', 'c3', 't');
"""
ROWS_OF_0007 = """
    INSERT INTO errands (delivery, kind, event, admission) VALUES (1, 'RepositoryChanged', '{}', 'errand');
    INSERT INTO redeliveries VALUES ('local', 'd', 1, 't');
"""
ROWS_OF_0008 = """
    INSERT INTO watches (task_id, sha, pull_number, since) VALUES (1, 'c', 3, 't');
"""
ROWS_OF_0009 = """
    INSERT INTO repository_labels VALUES ('local', '501', 'defect', 'bug');
    INSERT INTO pull_outcomes VALUES (1, 1, 3, 'merged', '', '7', 'ada', 't');
"""
ROWS_OF_0010 = """
    INSERT INTO review_wishes VALUES (1, 1, 3, 'review-9', '7', 'ada', 1, 'Shorter.', 't', 1, NULL);
    INSERT INTO told_threads VALUES (1, 1, 'T1', 'README.md', 3, 'place');
"""
ROWS = [
    *(ROWS_OF_0001, ROWS_OF_0002, ROWS_OF_0003, ROWS_OF_0004, ROWS_OF_0005, ROWS_OF_0006, ROWS_OF_0007),
    *(ROWS_OF_0008, ROWS_OF_0009, ROWS_OF_0010),
]
"""What a database may hold after each migration; a new migration adds its own."""

LATEST = len(known_migrations())


def test_schema_is_the_sum_of_the_migrations() -> None:
    with Database(":memory:") as database:
        database.migrate()
        with database.read() as connection:
            built = schema_text(connection)

    written = resources.files("store").joinpath("schema.sql").read_text("utf-8")

    assert built == written, "write the text of `schema_text` into store/schema.sql"


def test_schema_file_is_a_working_schema() -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(resources.files("store").joinpath("schema.sql").read_text("utf-8"))

    assert schema_text(connection) == resources.files("store").joinpath("schema.sql").read_text("utf-8")


def test_each_migration_runs_on_a_database_with_rows_in_it() -> None:
    migrations = known_migrations()
    assert len(ROWS) == len(migrations)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    for migration, rows in zip(migrations, ROWS, strict=True):
        before = _counts(connection)
        connection.execute("BEGIN IMMEDIATE")
        apply(connection, [migration])
        connection.execute("COMMIT")
        assert before.items() <= _counts(connection).items()
        connection.executescript(rows)
        assert 0 not in _counts(connection).values()
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_migrating_again_changes_nothing(database: Database) -> None:
    assert database.migrate() == database.migrate() == len(known_migrations())


def test_older_database_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    apply(connection, known_migrations()[:1])
    connection.execute("COMMIT")
    connection.executescript(ROWS_OF_0001)
    connection.close()

    with Database(path) as database:
        assert database.migrate() == LATEST
        with database.read() as reader:
            assert reader.execute("SELECT title FROM tasks").fetchone()[0] == "dark"
            assert reader.execute("SELECT count(*) FROM ledger").fetchone()[0] == 0


def test_newer_schema_is_refused_in_one_line(file_database: Database) -> None:
    with file_database.write() as connection:
        connection.execute("PRAGMA user_version = 70")

    with pytest.raises(ConfigurationError) as caught:
        file_database.migrate()

    message = str(caught.value)
    assert f"database {file_database.path}: its schema is 70, and this version" in message
    assert "\n" not in message


def test_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()

    with Database(path) as database, pytest.raises(ConfigurationError, match="another program's file"):
        database.migrate()

    connection = sqlite3.connect(path)
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_schema")] == ["notes"]
    connection.close()


def test_failed_migration_leaves_the_database_as_it_was(file_database: Database) -> None:
    broken = Migration(
        number=LATEST + 1, name="broken.sql", sql="CREATE TABLE half (id INTEGER);\nNONSENSE;\n"
    )

    with pytest.raises(sqlite3.OperationalError), file_database.write() as connection:
        apply(connection, [broken])

    assert file_database.migrate() == LATEST
    with file_database.read() as connection:
        assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchone() is None


def test_migration_that_leaves_dangling_references_fails(file_database: Database) -> None:
    dangling = Migration(
        number=LATEST + 1,
        name="dangling.sql",
        sql="PRAGMA defer_foreign_keys = ON;\nINSERT INTO phases VALUES (1, 9, 'x', 't', 1.0, 0, '');\n",
    )

    with pytest.raises(sqlite3.IntegrityError, match="refer to nothing"), file_database.write() as connection:
        apply(connection, [dangling])


def test_two_processes_may_start_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.db"
    gate = threading.Barrier(6)

    def start(_: int) -> int:
        gate.wait()
        with Database(path) as database:
            return database.migrate()

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(start, range(6))) == [LATEST] * 6


def test_statements_are_cut_outside_of_triggers_and_texts() -> None:
    script = (
        "-- a; comment\nCREATE TABLE a (b TEXT DEFAULT ';');\n"
        "CREATE TRIGGER t BEFORE DELETE ON a BEGIN\n  SELECT 1;\n  SELECT 2;\nEND;\n\nSELECT 3"
    )

    statements = list(split_statements(script))

    assert [statement.split()[-1] for statement in statements] == ["';');", "END;", "3"]


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables}
