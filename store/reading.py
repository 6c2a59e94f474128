"""Reads a database file without taking part in it: for commands beside a running or a stopped service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from domain.errors import ConfigurationError, StoreUnavailable
from store.migrate import known_migrations, schema_version

_PATIENCE_SECONDS = 5.0


@contextmanager
def reading(path: Path, *, oldest: int) -> Iterator[sqlite3.Connection]:
    """Open a database for reading alone, beside whatever runs; `oldest` is the first schema that will do.

    Raises:
        ConfigurationError: there is no such database, or it is of an older or a newer version.
        StoreUnavailable: it cannot be read now.
    """
    if not path.is_file():
        raise ConfigurationError(
            f"database {path}: there is none; FIXWRIGHT_DATA_DIR names its directory, and the service makes "
            "it at its first start"
        )
    try:
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=_PATIENCE_SECONDS
        )
        try:
            connection.row_factory = sqlite3.Row
            _check_version(connection, path, oldest)
            yield connection
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(f"database {path}: cannot be read now ({error})") from error
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(f"database {path}: is not one ({error}); choose another path") from error


def _check_version(connection: sqlite3.Connection, path: Path, oldest: int) -> None:
    if schema_version(connection, str(path), known=len(known_migrations())) < oldest:
        raise ConfigurationError(
            f"database {path}: is of an older version; the service of this version upgrades it at its start"
        )
