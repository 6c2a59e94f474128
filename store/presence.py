"""Who has the database open: every process of ours shares a lock that a restore must have alone."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import ConfigurationError
from domain.file_modes import file_mode


def present(database: Path) -> int:
    """Return a descriptor that tells others, until it is closed, that the database is in use.

    Raises:
        ConfigurationError: a restore is under way.
        OSError: the lock file cannot be made.
    """
    descriptor = _opened(database)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ConfigurationError(
            f"database {database}: a restore is under way; start when it is done"
        ) from None
    return descriptor


@contextmanager
def alone(database: Path) -> Iterator[None]:
    """Keep every process of ours away from the database.

    Raises:
        ConfigurationError: one has it open.
        OSError: the lock file cannot be made.
    """
    descriptor = _opened(database)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConfigurationError(
            f"database {database}: it is in use; stop `fixwright serve` and `fixwright work` first"
        ) from None
    finally:
        os.close(descriptor)


def _opened(database: Path) -> int:
    beside = database.with_name(database.name + ".in-use")
    descriptor = open_beside(beside)
    give_to_owner_of(beside.parent, descriptor)
    return descriptor


def open_beside(path: Path) -> int:
    """Open a lock file in the database's directory, made if need be, for all who use the database."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    found, wanted = os.fstat(descriptor), file_mode(path.parent.stat().st_mode)
    if stat.S_IMODE(found.st_mode) != wanted and found.st_uid == os.geteuid():
        os.fchmod(descriptor, wanted)
    return descriptor


def give_to_owner_of(directory: Path, descriptor: int) -> None:
    """Let the service's user, who owns the directory, have a file that root has made in it."""
    if os.geteuid() == 0:
        owner = directory.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
