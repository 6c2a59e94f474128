"""Opens the one SQLite file and hands out its connections: one writer at a time, short reads beside it."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal

import structlog

from domain.errors import ConfigurationError, StoreUnavailable
from domain.file_modes import file_mode
from store.migrate import apply, known_migrations, schema_version
from store.presence import open_beside, present

WAL_LIMIT = 32 * 2**20
"""Bytes. What the write-ahead log is cut back to when it is reset, and above which it is warned of."""

_OLDEST_SQLITE = (3, 37, 0)
_POLL_MILLISECONDS = 10
# Measured with batches of 19 KB deliveries: faster than pages of 4096 bytes, and smaller on disk.
_PAGE_SIZE = 8192
_CACHE_KIBIBYTES = 8192
_CHECKPOINT_PAGES = 2000
_IDLE_READERS = 8
_PASSING = {
    sqlite3.SQLITE_BUSY: "it is locked by another process",
    sqlite3.SQLITE_LOCKED: "it is locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed or is full",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
}

_log = structlog.get_logger(__name__)


class Database:
    """One SQLite file in WAL mode with synchronous=FULL, or `":memory:"`, for any number of threads.

    Neither `write` nor `read` may be entered again by a thread that is inside one. Rows come as
    `sqlite3.Row`. A read must fetch all its rows before it leaves.
    """

    def __init__(
        self,
        path: Path | Literal[":memory:"],
        *,
        patience_seconds: float = 5.0,
        checkpoints: bool = True,
    ) -> None:
        """Open the file, creating it with mode 0600; `migrate` must follow once per process.

        `patience_seconds` bounds how long a write waits for another process. Without `checkpoints` the
        write-ahead log is left to another program, which copies it away first.

        Raises:
            ConfigurationError: the place cannot hold the database; names the path and the cause.
        """
        self.path = path
        self._patience = patience_seconds
        self._checkpoints = checkpoints
        self._presence: int | None = None
        self._lock = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._is_open = True
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise ConfigurationError(
                f"SQLite {sqlite3.sqlite_version} is too old; {'.'.join(map(str, _OLDEST_SQLITE))} is needed"
            )
        try:
            if isinstance(path, Path):
                _prepare_file(path)
                self._presence = present(path)
                with _opening_alone(path):
                    self._writer = self._connect()
                    use_write_ahead_log(self._writer, path, patience_seconds)
            else:
                self._writer = self._connect()
        except (OSError, sqlite3.Error) as error:
            raise ConfigurationError(f"database {path}: cannot be opened: {error}") from error

    def migrate(self) -> int:
        """Bring the schema up to date and return its number. Safe for several processes at once.

        Raises:
            ConfigurationError: the file is not ours, or is of a newer version.
            StoreUnavailable: another process holds the database for too long.
        """
        migrations = known_migrations()
        with self._migrating_alone(), self.write() as connection:
            version = schema_version(connection, str(self.path), known=len(migrations))
            if version < len(migrations):
                apply(connection, migrations[version:])
                _log.info("database migrated", path=str(self.path), was=version, now=len(migrations))
        return len(migrations)

    @contextmanager
    def _migrating_alone(self) -> Iterator[None]:
        """Wait for another process' migration however long it takes, instead of losing patience with it."""
        if isinstance(self.path, Path):
            with _opening_alone(self.path):
                yield
        else:
            yield

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the writer inside BEGIN IMMEDIATE; commits (with fsync) at the end, rolls back on any error.

        Raises:
            StoreUnavailable: locked for too long, disk full or failing; nothing was written.
        """
        with self._lock, self._passing_troubles():
            self._begin()
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            finally:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection on one snapshot of the data; it cannot write.

        Raises:
            StoreUnavailable: locked for too long, or the disk is failing.
        """
        if not isinstance(self.path, Path):
            with self._lock:
                yield self._writer
            return
        with self._passing_troubles():
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
                self._give_back(connection)

    def checkpoint(self) -> bool:
        """Copy the write-ahead log into the database and cut it to nothing, if nobody is in the way.

        For idle moments. Returns whether it is empty now; where another program does it, only looks.
        """
        is_empty = self._checkpoints and self._truncate_log()
        if self.wal_bytes() > WAL_LIMIT:
            _log.warning("write-ahead log keeps growing", bytes=self.wal_bytes(), limit=WAL_LIMIT)
        return is_empty

    def _truncate_log(self) -> bool:
        with self._lock, self._passing_troubles():
            row = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return int(row[0]) == 0

    def damage(self) -> list[str]:
        """Read the whole database and return what is broken in it: pages, indexes, references. Slow."""
        with self.read() as connection:
            checked = [str(row[0]) for row in connection.execute("PRAGMA integrity_check").fetchall()]
            dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
        found = [line for line in checked if line != "ok"]
        return found + [f"{row[0]} row {row[1]} refers to nothing in {row[2]}" for row in dangling]

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log in bytes."""
        if not isinstance(self.path, Path):
            return 0
        log = self.path.with_name(self.path.name + "-wal")
        return log.stat().st_size if log.exists() else 0

    def close(self) -> None:
        """Close every connection; a second time is a no-op."""
        with self._lock:
            self._is_open = False
            self._writer.close()
            while self._idle:
                self._idle.pop().close()
            if self._presence is not None:
                os.close(self._presence)
                self._presence = None

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self) -> None:
        """Wait for the write lock with short polls: SQLite's own back-off sleeps up to 100 ms and starves."""
        if self._writer.in_transaction:
            raise RuntimeError("a write transaction is already open in this thread")
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
            else:
                return

    def _connect(self) -> sqlite3.Connection:
        """Return a new connection, trying again while somebody opens or closes the file for the last time.

        SQLite locks it exclusively then, and its own busy time-out does not cover a first look at it.
        """
        deadline = time.monotonic() + self._patience
        while True:
            connection = self._opened()
            try:
                self._set_up(connection)
            except sqlite3.OperationalError as error:
                connection.close()
                if not _is_busy(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_MILLISECONDS / 1000)
            else:
                return connection

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            timeout=_POLL_MILLISECONDS / 1000,
        )
        connection.row_factory = sqlite3.Row
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        for pragma in (
            f"page_size = {_PAGE_SIZE}",
            f"cache_size = -{_CACHE_KIBIBYTES}",
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES if self._checkpoints else 0}",
            "foreign_keys = ON",
            "recursive_triggers = ON",
            "synchronous = FULL",
            "trusted_schema = OFF",
            f"journal_size_limit = {WAL_LIMIT}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    def _borrow(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA busy_timeout = {int(self._patience * 1000)}")
            return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._is_open and len(self._idle) < _IDLE_READERS:
            self._idle.append(connection)
        else:
            connection.close()

    @contextmanager
    def _passing_troubles(self) -> Iterator[None]:
        """Turn what the machine does to us into a deliberate error; faults of our SQL pass through."""
        try:
            yield
        except sqlite3.OperationalError as error:
            cause = _PASSING.get(_primary_code(error))
            if cause is None:
                raise
            raise StoreUnavailable(f"database {self.path}: {cause} ({error})") from error


@contextmanager
def _opening_alone(path: Path) -> Iterator[None]:
    """Let one process at a time open the file.

    While a new file is switched to WAL it is locked exclusively, and no busy time-out covers another
    process' first look at it. The lock file is beside the database and is never removed.
    """
    beside = path.with_name(path.name + ".opening")
    descriptor = open_beside(beside)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def use_write_ahead_log(connection: sqlite3.Connection, path: Path, patience_seconds: float) -> None:
    """Switch to WAL and prove that it is in force.

    Raises:
        ConfigurationError: the file system cannot do it; SQLite then quietly stays in another mode.
        sqlite3.OperationalError: locked for too long.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
        else:
            break
    if mode != "wal":
        raise ConfigurationError(
            f"database {path}: write-ahead logging cannot be used here (the journal mode stays {mode!r}); "
            "put the file on a local disk, not on a network or shared folder"
        )


def _prepare_file(path: Path) -> None:
    """Check the directory; close the file to all but its owner and the group of a shared directory."""
    directory = path.absolute().parent
    if not directory.is_dir():
        raise ConfigurationError(f"database {path}: there is no directory {directory}; create it")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise ConfigurationError(f"database {path}: the directory {directory} is not writable for this user")
    if path.is_dir():
        raise ConfigurationError(f"database {path}: this is a directory; give the path of a file in it")
    wanted = file_mode(directory.stat().st_mode)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    # Not opened here: closing a second descriptor would drop the locks of this process' connections.
    found = path.stat()
    if stat.S_IMODE(found.st_mode) != wanted and found.st_uid == os.geteuid():
        path.chmod(wanted)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code; errors that Python's module raises itself have none."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
