"""A database file, new or of an earlier version, is opened by several processes at the same moment."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from store.database import Database
from store.migrate import apply, known_migrations

OPEN = """
import pathlib, sys
from store.database import Database
sys.stdin.readline()
Database(pathlib.Path(sys.argv[1])).migrate()
"""


@pytest.mark.long
def test_four_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.sqlite3"
        open_at_once(path)


@pytest.mark.long
def test_four_processes_bring_an_older_file_up_to_date_once(tmp_path: Path) -> None:
    path = tmp_path / "older.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    apply(connection, known_migrations()[:1])
    connection.execute("COMMIT")
    connection.close()

    said = open_at_once(path)

    assert sum("database migrated" in text for text in said) == 1
    with Database(path) as database, database.read() as reader:
        assert reader.execute("PRAGMA user_version").fetchone()[0] == len(known_migrations())


def open_at_once(path: Path) -> list[str]:
    """Open and migrate a file in four processes at once; return what each said."""
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("\n")
        opener.stdin.flush()
    said = [opener.communicate(timeout=60) for opener in openers]
    assert [opener.returncode for opener in openers] == [0, 0, 0, 0], said
    return [output + errors for output, errors in said]
