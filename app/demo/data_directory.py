"""The demo's own data directory: fresh for each demo, gone afterwards, kept where something went wrong."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class DataDirectory:
    """Where one demo keeps its data; with `keep` it is left there at the end."""

    path: Path
    keep: bool = False


@contextmanager
def data_directory(root: Path | None = None) -> Iterator[DataDirectory]:
    """Make a directory for one demo and remove it at the end, unless `keep` is set or an error comes through.

    An interruption (Ctrl-C) is no error. Directories of demos that have died are removed first; those of
    demos that still run are locked, and left alone. The mode lets the sandbox's user pass through.
    """
    parent = root or Path(tempfile.gettempdir())
    prefix = f"fixwright-demo-{os.getuid()}-"
    for old in parent.glob(f"{prefix}*"):
        _remove_if_dead(old)
    made, lock = _made(parent, prefix)
    try:
        yield made
    except Exception:
        made.keep = True
        raise
    finally:
        if made.keep:
            sys.stderr.write(f"The demo's data stay in {made.path} until the next demo.\n")
        else:
            shutil.rmtree(made.path, ignore_errors=True)
        os.close(lock)


def _made(parent: Path, prefix: str) -> tuple[DataDirectory, int]:
    """Make and lock a directory; another demo may have taken it for a dead one before it was locked."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            path.chmod(0o711)
            return DataDirectory(path), lock
        os.close(lock)


def _remove_if_dead(directory: Path) -> None:
    """Remove a directory of ours that no running demo holds; the lock goes with its process."""
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory, ignore_errors=True)
    except BlockingIOError:
        return
    finally:
        os.close(lock)
