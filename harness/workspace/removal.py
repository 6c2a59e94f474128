"""Removes, measures and hands over directory trees that somebody hostile filled; follows no link."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.room import is_full

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Remove a file, link or directory tree of any depth, with any modes; absent is fine.

    Directories are moved up beside each other before they are emptied, so that depth costs neither stack
    nor descriptors. Raises OSError for what cannot be removed (another user's directory, when not root).
    """
    try:
        is_directory = stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if not is_directory:
        path.unlink(missing_ok=True)
        return
    try:
        pit = Path(tempfile.mkdtemp(prefix="removing-", dir=path.parent))
    except OSError as error:
        if not is_full(error):
            raise
        _thin_out(path)  # makes the room that the pit needs
        pit = Path(tempfile.mkdtemp(prefix="removing-", dir=path.parent))
    try:
        with opened(pit) as pit_descriptor:
            _make_ours(path.name, path.parent)
            path.rename(pit / "0")
            _empty(pit_descriptor)
    finally:
        with suppress(OSError):  # what could not be emptied stays for the next sweep
            pit.rmdir()


def _thin_out(path: Path) -> None:
    """Delete files of a tree, as far as it can be walked, where there is no room even for a directory."""
    with suppress(RecursionError, OSError):  # deeper than Python walks, or than descriptors suffice for
        for _, _, files, descriptor in os.fwalk(path, follow_symlinks=False):
            for name in files:
                with suppress(OSError):
                    os.unlink(name, dir_fd=descriptor)


def _empty(pit: int) -> None:
    """Empty the pit: each round deletes a directory's files and lifts its directories into the pit."""
    pending, count = ["0"], 1
    while pending:
        name = pending.pop()
        with opened(name, pit) as descriptor:
            with os.scandir(descriptor) as listing:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
            for child, is_directory in found:
                if not is_directory:
                    os.unlink(child, dir_fd=descriptor)
                    continue
                _make_ours(child, descriptor)
                os.rename(child, str(count), src_dir_fd=descriptor, dst_dir_fd=pit)
                pending.append(str(count))
                count += 1
        os.rmdir(name, dir_fd=pit)


def _make_ours(name: str, parent: int | Path) -> None:
    """Let us list and move a directory, where its owner (perhaps we) closed it. Links are left alone."""
    base = None if isinstance(parent, Path) else parent
    target = str(parent / name) if isinstance(parent, Path) else name
    descriptor = os.open(target, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=base)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
            with suppress(PermissionError):
                Path(f"/proc/self/fd/{descriptor}").chmod(0o700)
    finally:
        os.close(descriptor)


@contextmanager
def opened(path: Path | str, parent: int | None = None) -> Iterator[int]:
    """Yield a descriptor of a directory that is not a link."""
    descriptor = os.open(path, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def give_tree(path: Path, owner: tuple[int, int]) -> None:
    """Make (uid, gid) the owner of a tree that we ourselves wrote; links are changed, not followed."""
    uid, gid = owner
    directories = [str(path)]
    for directory in directories:  # it grows meanwhile; a walk by calls would end at a thousand levels
        with os.scandir(directory) as listing:
            directories += [entry.path for entry in listing if entry.is_dir(follow_symlinks=False)]
    for directory in reversed(directories):  # what is above stays ours until all below it is given
        with opened(directory) as descriptor:
            for name in os.listdir(descriptor):  # noqa: PTH208 - by descriptor
                os.chown(name, uid, gid, dir_fd=descriptor, follow_symlinks=False)
            if directory == directories[0]:
                os.fchown(descriptor, uid, gid)


def measure_tree(path: Path) -> tuple[int, int]:
    """Return the bytes on disk and the number of entries below a directory, as far as it can be listed."""
    used, entries, pending = 0, 0, [str(path)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                for entry in listing:
                    status = entry.stat(follow_symlinks=False)
                    used += status.st_blocks * 512
                    entries += 1
                    if stat.S_ISDIR(status.st_mode):
                        pending.append(entry.path)
        except OSError:
            continue  # closed to us, gone meanwhile, or deeper than a path can say: not counted
    return used, entries
