"""Writing into a directory tree by descriptors: whole files or nothing, and never through a link."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from harness.workspace.listing import Entry, Kind, entry_at, inside, place_of, set_mode

ARRIVING = ".fixwright-"
"""How files begin that are not whole yet; who kills us may leave one."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Places:
    """Changes what lies below an open directory. Every method may raise OSError, also for links above."""

    def __init__(self, root: int) -> None:
        self.root = root

    def write(self, path: str, content: Iterable[bytes], like: Entry) -> None:
        """Put a file in its place in one move, with mode, owner and time as given."""
        with place_of(self.root, path) as (directory, name):
            arriving = f"{ARRIVING}{secrets.token_hex(8)}"
            descriptor = os.open(arriving, _NEW, 0o600, dir_fd=directory)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    for chunk in content:
                        file.write(chunk)
                    file.flush()
                    _own(file.fileno(), like)
                    os.fchmod(file.fileno(), like.mode)
                    if like.modified_ns:
                        os.utime(file.fileno(), ns=(like.modified_ns, like.modified_ns))
                    os.fdatasync(file.fileno())
                self._clear(directory, name)
                os.replace(arriving, name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(arriving, dir_fd=directory)
                raise

    def link(self, path: str, like: Entry) -> None:
        """Put a symlink in its place."""
        with place_of(self.root, path) as (directory, name):
            arriving = f"{ARRIVING}{secrets.token_hex(8)}"
            os.symlink(like.target, arriving, dir_fd=directory)
            if os.geteuid() == 0:
                os.chown(arriving, *like.owner, dir_fd=directory, follow_symlinks=False)
            if like.modified_ns:
                times = (like.modified_ns, like.modified_ns)
                os.utime(arriving, ns=times, dir_fd=directory, follow_symlinks=False)
            self._clear(directory, name)
            os.replace(arriving, name, src_dir_fd=directory, dst_dir_fd=directory)

    def pipe(self, path: str, like: Entry) -> None:
        """Make a named pipe anew."""
        self.remove(path)
        with place_of(self.root, path) as (directory, name):
            os.mkfifo(name, 0o600, dir_fd=directory)
            set_mode(directory, name, like.mode)
            if os.geteuid() == 0:
                os.chown(name, *like.owner, dir_fd=directory, follow_symlinks=False)
            times = (like.modified_ns, like.modified_ns)
            os.utime(name, ns=times, dir_fd=directory, follow_symlinks=False)

    def make_directory(self, path: str) -> None:
        """Make a directory, open to us, unless there is one; what else is in its place goes."""
        with place_of(self.root, path) as (directory, name):
            there = entry_at(directory, name)
            if there is not None and there.kind is Kind.DIRECTORY:
                return
            if there is not None:
                os.unlink(name, dir_fd=directory)
            os.mkdir(name, 0o700, dir_fd=directory)

    def settle(self, path: str, like: Entry) -> None:
        """Give a directory its mode, owner and time, when all is in it."""
        with place_of(self.root, path) as (directory, name), inside(directory, name) as there:
            status = os.fstat(there)
            if (status.st_uid, status.st_gid) != like.owner:
                _own(there, like)
            if stat.S_IMODE(status.st_mode) != like.mode:
                os.fchmod(there, like.mode)
            if status.st_mtime_ns != like.modified_ns:
                os.utime(there, ns=(like.modified_ns, like.modified_ns))

    def remove(self, path: str) -> None:
        """Remove a file, link or directory with all that is in it; absent is fine."""
        with suppress(FileNotFoundError), place_of(self.root, path) as (directory, name):
            _remove(directory, name)

    def make_parents(self, path: str) -> None:
        """Make the directories above a path, as a person would."""
        above = path.split("/")[:-1]
        for count in range(1, len(above) + 1):
            with place_of(self.root, "/".join(above[:count])) as (directory, name):
                if entry_at(directory, name) is None:
                    os.mkdir(name, 0o777, dir_fd=directory)

    def drop_empty_parents(self, path: str) -> None:
        """Remove the directories above a path that hold nothing any more."""
        above = path.split("/")[:-1]
        for count in range(len(above), 0, -1):
            try:
                with place_of(self.root, "/".join(above[:count])) as (directory, name):
                    os.rmdir(name, dir_fd=directory)
            except OSError:
                return  # something is in it, or it is the top of what is gone

    def _clear(self, directory: int, name: str) -> None:
        """Make room where a directory is in the way; a file is replaced in one move."""
        there = entry_at(directory, name)
        if there is not None and there.kind is Kind.DIRECTORY:
            _remove(directory, name)


def sync(folder: Path) -> None:
    """Put a directory's names on disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _own(descriptor: int, like: Entry) -> None:
    if os.geteuid() == 0:
        os.fchown(descriptor, *like.owner)


def _remove(directory: int, name: str) -> None:
    there = entry_at(directory, name)
    if there is None:
        return
    if there.kind is not Kind.DIRECTORY:
        os.unlink(name, dir_fd=directory)
        return
    if there.mode & 0o700 != 0o700:
        set_mode(directory, name, there.mode | 0o700)
    with inside(directory, name) as below:
        for inner in os.listdir(below):  # noqa: PTH208 - by descriptor
            _remove(below, inner)
    os.rmdir(name, dir_fd=directory)
