"""Looks at the database without taking part in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from domain.errors import FixwrightError
from domain.ports import Examination, Standing
from store.migrate import known_migrations, schema_version
from store.reading import reading

SUBJECT = "database"


def sqlite_version() -> str:
    """Return SQLite's version, such as "3.40.1"."""
    return sqlite3.sqlite_version


def schema(path: Path) -> Examination:
    """Return how the database's schema stands to that of this version. Raises nothing on purpose."""
    known = len(known_migrations())
    try:
        with reading(path, oldest=0) as connection:
            found = schema_version(connection, str(path), known=known)
            mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    except FixwrightError as error:
        fix = "see the message; docs/how-to/backup.md tells how a copy is put back"
        return Examination(subject=SUBJECT, standing=Standing.FAIL, words=str(error), fix=fix)
    words = f"schema {found}, journal mode {mode}"
    if mode != "wal":
        fix = "start the service, which sets it; put the data directory on a local disk"
        return Examination(subject=SUBJECT, standing=Standing.FAIL, words=words, fix=fix)
    if found < known:
        fix = f"the service brings it to {known} at its next start"
        return Examination(subject=SUBJECT, standing=Standing.WARN, words=words, fix=fix)
    return Examination(subject=SUBJECT, standing=Standing.OK, words=words)
