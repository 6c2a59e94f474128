"""Copies the database beside running processes, and puts a copy back when none runs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.errors import ConfigurationError, StoreUnavailable
from store.migrate import APPLICATION_ID, known_migrations
from store.presence import alone, give_to_owner_of, present
from store.rows import optional_moment

_COMPANIONS = ("-wal", "-shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a copy of the database holds. `newest` is its last delivery's or move's moment."""

    bytes: int
    schema: int
    tasks: int
    live_tasks: int
    deliveries: int
    attempts: int
    last_attempt: int
    newest: datetime | None


def back_up(database: Path, copy: Path, *, replace: bool) -> Contents:
    """Write a consistent copy of the database; readers and writers go on meanwhile.

    The copy takes its place whole and on disk, or not at all, and is readable for its owner only.

    Raises:
        ConfigurationError: there is no such database, or the copy is there already and `replace` is not set.
        StoreUnavailable: it cannot be read, or the copy cannot be written (disk full).
    """
    if not database.is_file():
        raise ConfigurationError(f"database {database}: there is none; is FIXWRIGHT_DATA_DIR right?")
    if copy.is_dir() or (copy.exists() and not replace):
        raise ConfigurationError(f"{copy} is there already; choose another name, or give --force")
    with _deliberate_errors(copy):
        descriptor = present(database)
        try:
            return _copied(database, copy)
        finally:
            os.close(descriptor)


def restore(copy: Path, database: Path, moment: datetime) -> tuple[Contents, Path | None]:
    """Put a copy in the database's place; return what it holds, and where the old file is now.

    The copy is checked first, and is itself left as it is. The old file is kept beside, under a name with
    `moment` in it; None where there was none.

    Raises:
        ConfigurationError: a process has the database open; or the copy is none of ours, damaged, or of a
            newer version. Nothing was changed.
        StoreUnavailable: the copy cannot be read, or the disk is full. Nothing was changed.
    """
    if not copy.is_file():
        raise ConfigurationError(f"{copy}: there is no such file")
    if copy.absolute() == database.absolute():
        raise ConfigurationError(f"{copy}: this is the database itself; give the file that `backup` wrote")
    with _deliberate_errors(database), alone(database):
        part = _beside(database)
        try:
            _copied(copy, part)
            contents = _checked(part, str(copy))
            aside = _put_aside(database, moment)
            _give_to_service(part)
            part.rename(database)
            _sync(database.parent)
        finally:
            part.unlink(missing_ok=True)
    return contents, aside


def _copied(source: Path, target: Path) -> Contents:
    """Copy in one step, so that all of it is of one moment, check it, and move it to its place."""
    part = _beside(target)
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    try:
        with closing(_open(source)) as original, closing(_open(part)) as made:
            original.backup(made)
            made.execute("PRAGMA journal_mode = DELETE")  # one file, without companions
            contents = _contents(made, part, str(source))
        _sync(part)
        part.rename(target)
        _sync(target.parent)
    finally:
        for leftover in (part, *_companions(part)):
            leftover.unlink(missing_ok=True)
    return contents


def _checked(copy: Path, shown: str) -> Contents:
    """Return what a copy holds if this version can go on with it. Raises ConfigurationError."""
    with closing(_open(copy)) as connection:
        contents = _contents(connection, copy, shown)
    known = len(known_migrations())
    if contents.schema > known:
        raise ConfigurationError(
            f"{shown}: its schema is {contents.schema}, and this version of Fixwright knows only {known}; "
            "install the version that wrote it"
        )
    return contents


def _contents(connection: sqlite3.Connection, file: Path, shown: str) -> Contents:
    """Prove that a database is ours and whole, and count. Raises ConfigurationError."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise ConfigurationError(f"{shown}: this is not a database of Fixwright")
    verdict = " ".join(connection.execute("PRAGMA integrity_check(1)").fetchone()[0].split())
    dangling = connection.execute("PRAGMA foreign_key_check").fetchone()
    if verdict != "ok" or dangling is not None:
        raise ConfigurationError(f"{shown}: the file is damaged ({verdict}); take an earlier copy")
    row = connection.execute(
        "SELECT (SELECT count(*) FROM tasks) AS tasks,"
        " (SELECT count(*) FROM tasks WHERE state NOT IN ('cancelled', 'done')) AS live_tasks,"
        " (SELECT count(*) FROM deliveries) AS deliveries, (SELECT count(*) FROM attempts) AS attempts,"
        " (SELECT coalesce(max(id), 0) FROM attempts) AS last_attempt,"
        " max((SELECT coalesce(max(received_at), '') FROM deliveries),"
        " (SELECT coalesce(max(at), '') FROM task_events)) AS newest"
    ).fetchone()
    return Contents(
        bytes=file.stat().st_size,
        schema=connection.execute("PRAGMA user_version").fetchone()[0],
        tasks=row["tasks"],
        live_tasks=row["live_tasks"],
        deliveries=row["deliveries"],
        attempts=row["attempts"],
        last_attempt=row["last_attempt"],
        newest=optional_moment(row["newest"]),
    )


def _put_aside(database: Path, moment: datetime) -> Path | None:
    """Move the old file out of the way, its log before it: a log must never meet another database.

    Neither is opened for that: what SQLite makes of a damaged file may be the end of its log.
    """
    if not database.exists():
        return None
    aside = database.with_name(f"{database.name}.before-{moment:%Y%m%dT%H%M%SZ}")
    for companion in _companions(database):
        if companion.exists():
            companion.rename(aside.with_name(aside.name + companion.name.removeprefix(database.name)))
    database.rename(aside)
    return aside


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA busy_timeout = 10000")
    return connection


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in _COMPANIONS]


def _give_to_service(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        give_to_owner_of(path.parent, descriptor)
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _deliberate_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise StoreUnavailable(f"{path}: {error}; nothing was changed") from error
        raise ConfigurationError(f"the copy cannot be read as a database: {error}") from error
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror or error}; nothing was changed") from error
