"""Reading a checked-out tree without following a single symlink, and never more than is asked for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

SKIPPED_DIRECTORIES = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", ".eggs", "__pycache__", "node_modules"),
        *(
            "vendor",
            "vendored",
            "_vendor",
            "third_party",
            "thirdparty",
            "site-packages",
            "dist",
            "build",
            "target",
        ),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".cache", ".idea", "bower_components"),
    }
)
"""Directories whose content is other people's code or made by tools."""

DEEPEST = 200
"""Directories below one another that are walked: each costs a call within a call, and a descriptor."""


def read_file(root: Path, path: str, limit: int) -> bytes | None:
    """Return at most `limit` bytes of a regular file below `root`, or None if there is no such file.

    Each component is opened by itself with O_NOFOLLOW, so that no symlink, FIFO or device is ever read.
    """
    parts = PurePosixPath(path).parts
    if not parts or any(part in {"/", "..", "."} for part in parts):
        return None
    try:
        directory = os.open(root, _NO_FOLLOW | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        for part in parts[:-1]:
            inner = os.open(part, _NO_FOLLOW | os.O_DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = inner
        return read_at(directory, parts[-1], limit)
    except OSError:
        return None
    finally:
        os.close(directory)


def read_at(directory: int, name: str, limit: int) -> bytes | None:
    """Return at most `limit` bytes of the regular file `name` in an open directory, or None."""
    try:
        descriptor = os.open(name, _NO_FOLLOW, dir_fd=directory)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(limit)


def read_text(root: Path, path: str, limit: int = 512 * 1024) -> str:
    """Return a text file's content, "" if it is not there; undecodable bytes are replaced."""
    return (read_file(root, path, limit) or b"").decode("utf-8", "replace")


def walk(root: Path, *, max_files: int) -> Iterator[tuple[str, int, str]]:
    """Yield (path, open directory, name) for regular files, sorted, at most `max_files`.

    The directory's descriptor is only valid until the next item. Vendored and tool-made directories are
    left out, and what lies deeper than DEEPEST; symlinks are not followed.
    """
    count = 0
    for directory, names, files, descriptor in os.fwalk(root, follow_symlinks=False):
        relative = Path(directory).relative_to(root).as_posix()
        prefix = "" if relative == "." else relative + "/"
        is_deepest = prefix.count("/") >= DEEPEST
        names[:] = [] if is_deepest else sorted(name for name in names if name not in SKIPPED_DIRECTORIES)
        for name in sorted(files):
            if count >= max_files:
                return
            count += 1
            yield prefix + name, descriptor, name
