"""Opens the embedded forge's SQLite file and runs transactions on it, safe among several processes."""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from domain.errors import ConfigurationError, ForgeError, ForgeUnavailable

SCHEMA_VERSION = 3

_STEPS = ("schema.sql", "checks.sql", "reviews.sql")
"""What brings an empty file to the schema, one version after another."""


class Database:
    """One SQLite file in WAL mode. A connection lives for one transaction, so threads may share this."""

    def __init__(self, path: Path, *, busy_seconds: float = 20.0) -> None:
        """Open the file, and make it when it is not there; wait for other writers at most `busy_seconds`.

        Raises ConfigurationError.
        """
        self._path = path
        self._busy_seconds = busy_seconds
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._prepare()
            # The last connection to close would move the log into the file and sync it, each time.
            self._anchor = self._connect(shared=True)
            self._anchor.execute("SELECT count(*) FROM users").fetchall()
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(f"the local forge cannot use {path}: {error}") from error

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one moment. Raises ForgeUnavailable."""
        with self._transaction("BEGIN DEFERRED") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the one connection that may write; commits unless the block raises.

        Raises ForgeUnavailable.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connect()
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.IntegrityError as error:
            raise ForgeError(f"the local forge refused: {error}") from error
        except sqlite3.OperationalError as error:
            raise ForgeUnavailable(f"the local forge's database could not be used: {error}") from error

    def _connect(self, *, shared: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=not shared
        )
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        # Safe when a process is killed. A power cut may lose this world; it is for showing and testing.
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    def _prepare(self) -> None:
        """Make the schema once. Switching to WAL does not wait for other processes, hence the lock file."""
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            connection = self._connect()
            try:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version == 0:
                    connection.execute("PRAGMA journal_mode = WAL")
                for step in _STEPS[version:]:
                    schema = files("providers.local").joinpath(step).read_text(encoding="utf-8")
                    connection.executescript(f"BEGIN IMMEDIATE;\n{schema}\nCOMMIT;")
                if version > SCHEMA_VERSION:
                    raise ConfigurationError(
                        f"{self._path} has schema {version} and this version reads {SCHEMA_VERSION}; "
                        "point the local forge at a fresh directory"
                    )
            finally:
                connection.close()
