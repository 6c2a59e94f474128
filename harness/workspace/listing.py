"""What lies in a directory tree, to the last bit of mode; listed by descriptors, as links may lead astray."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from domain.errors import TransactionError

GIT = ".git"
"""At the top it is the history, not the tree; it is never listed."""

MOST_ENTRIES = 500_000
DEEPEST = 200
CHUNK = 2**20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Kind(StrEnum):
    """What a path is."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    PIPE = "pipe"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entry:
    """What lstat says of a path. `mode` are the permission bits, `identity` changes with every write.

    `owner` is (uid, gid); `target` is a symlink's.
    """

    kind: Kind
    mode: int
    size: int
    modified_ns: int
    owner: tuple[int, int]
    identity: tuple[int, int, int]
    target: str = ""


def list_tree(root: int, leave_out: Collection[str] = (), *, opening: bool = False) -> dict[str, Entry]:
    """Return every entry below an open directory by its path, parents before what is in them.

    `leave_out` are names of directories that are passed over. With `opening`, directories that somebody
    closed to their owner are opened first. Raises TransactionError for what cannot be listed, OSError.
    """
    found: dict[str, Entry] = {}
    _list(root, "", _Listing(frozenset(leave_out), opening, found))
    return found


@dataclass(frozen=True, slots=True)
class _Listing:
    leave_out: frozenset[str]
    opening: bool
    found: dict[str, Entry]


def _list(directory: int, prefix: str, listing: _Listing) -> None:
    if prefix.count("/") > DEEPEST:
        raise TransactionError(f"{prefix[:200]}…: more than {DEEPEST} directories deep")
    for name in sorted(os.listdir(directory)):
        if not prefix and name == GIT:
            continue
        if len(listing.found) >= MOST_ENTRIES:
            raise TransactionError(f"more than {MOST_ENTRIES} files and directories; leave some out by name")
        entry = entry_at(directory, name)
        if entry is None or (entry.kind is Kind.DIRECTORY and name in listing.leave_out):
            continue
        listing.found[prefix + name] = entry
        if entry.kind is not Kind.DIRECTORY:
            continue
        if listing.opening and entry.mode & 0o700 != 0o700:
            set_mode(directory, name, entry.mode | 0o700)
        try:
            with inside(directory, name) as below:
                _list(below, f"{prefix}{name}/", listing)
        except PermissionError:
            raise TransactionError(f"{prefix}{name}: cannot be listed, so it could not be put back") from None


def set_mode(directory: int, name: str, mode: int) -> None:
    """Change a mode without following a link: by a descriptor of the thing itself. Raises OSError."""
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            Path(f"/proc/self/fd/{descriptor}").chmod(mode)
    finally:
        os.close(descriptor)


def entry_at(directory: int, name: str) -> Entry | None:
    """Return what is known of a name in an open directory, or None where there is nothing."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        kind = _kind(status.st_mode)
        target = os.readlink(name, dir_fd=directory) if kind is Kind.LINK else ""
    except FileNotFoundError:
        return None
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        size=status.st_size if kind is Kind.FILE else 0,
        modified_ns=status.st_mtime_ns,
        owner=(status.st_uid, status.st_gid),
        identity=(status.st_dev, status.st_ino, status.st_ctime_ns),
        target=target,
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    if stat.S_ISLNK(mode):
        return Kind.LINK
    return Kind.PIPE if stat.S_ISFIFO(mode) else Kind.OTHER


@contextmanager
def opened(root: Path) -> Iterator[int]:
    """Yield a descriptor of a tree's top directory. Raises TransactionError."""
    try:
        descriptor = os.open(root, _DIRECTORY)
    except OSError as error:
        raise TransactionError(f"{root}: cannot be opened as a directory: {error.strerror}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def inside(directory: int, name: str) -> Iterator[int]:
    """Yield a descriptor of a directory by its name in an open one; a symlink is none. Raises OSError."""
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def place_of(root: int, path: str) -> Iterator[tuple[int, str]]:
    """Yield the open directory that a path is in, and its name there. OSError for links and ways out."""
    *above, name = path.split("/")
    if not {"", ".", ".."}.isdisjoint((*above, name)):
        raise OSError(errno.EINVAL, "not a path below a directory", path[:200])
    current = os.dup(root)
    try:
        for step in above:
            inner = os.open(step, _DIRECTORY, dir_fd=current)
            os.close(current)
            current = inner
        yield current, name
    finally:
        os.close(current)


def chunks_of(directory: int, name: str) -> Iterator[bytes]:
    """Yield a regular file's content. Raises OSError."""
    with os.fdopen(os.open(name, _FILE, dir_fd=directory), "rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def digest_at(root: int, path: str, entry: Entry) -> str:
    """Return the SHA-256 of a file's content or a link's target, "" for other kinds. Raises OSError."""
    if entry.kind is Kind.LINK:
        return hashlib.sha256(os.fsencode(entry.target)).hexdigest()
    if entry.kind is not Kind.FILE:
        return ""
    digest = hashlib.sha256()
    with place_of(root, path) as (directory, name):
        for chunk in chunks_of(directory, name):
            digest.update(chunk)
    return digest.hexdigest()
