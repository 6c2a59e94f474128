"""Brings a database to this version's schema: numbered SQL files, each applied once, in one transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from domain.errors import ConfigurationError

APPLICATION_ID = 0x46585752
"""Written into the file's header ("FXWR"), so that a stranger's database is never migrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One numbered SQL file. Numbers count from 1 without gaps."""

    number: int
    name: str
    sql: str


def known_migrations() -> list[Migration]:
    """Return the migrations that this version brings, in order.

    Raises:
        ValueError: the numbers have a gap or a repetition.
    """
    found = []
    for file in resources.files("store.migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_\w+\.sql", file.name)
        if match:
            found.append(Migration(number=int(match[1]), name=file.name, sql=file.read_text("utf-8")))
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"migrations are not numbered 1, 2, 3, …: {[each.name for each in found]}")
    return found


def schema_version(connection: sqlite3.Connection, where: str, *, known: int) -> int:
    """Return how many migrations the database has had.

    Raises:
        ConfigurationError: it belongs to another program, or to a newer version of this one.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] > 0
    if owner != APPLICATION_ID and (owner or version or has_tables):
        raise ConfigurationError(f"database {where}: this is another program's file; choose another path")
    if version > known:
        raise ConfigurationError(
            f"database {where}: its schema is {version}, and this version of Fixwright knows only {known}; "
            "install the newer version again, or restore the backup made before the upgrade"
        )
    return version


def apply(connection: sqlite3.Connection, pending: list[Migration]) -> None:
    """Apply migrations inside the caller's write transaction.

    Raises:
        sqlite3.Error: a statement failed; the caller rolls everything back.
    """
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for migration in pending:
        for statement in split_statements(migration.sql):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {migration.number}")
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        raise sqlite3.IntegrityError(f"migration leaves {len(broken)} rows that refer to nothing")


def split_statements(sql: str) -> Iterator[str]:
    """Cut a script into statements; `executescript` cannot serve, it commits before it begins."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""
    if statement.strip():
        yield statement.strip()


def schema_text(connection: sqlite3.Connection) -> str:
    """Return the schema as SQL; `store/schema.sql` is this text."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type <> 'table', name"
    ).fetchall()
    return "".join(f"{row[0]};\n\n" for row in rows).rstrip("\n") + "\n"
