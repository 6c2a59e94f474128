"""Watches what a session adds to the disk, in bytes and in files; and removes trees that resist removal."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.family import deleted_file_bytes

_BYTES_PER_FILE = 4096
"""So many files are allowed as would fill the byte limit with one block each."""
_UNCONDITIONAL_SECONDS = 2.0
_REMOVAL_SECONDS = 300.0


class TreeTooDeep(SandboxError):
    """A path became longer than the kernel takes."""


class DiskWatch:
    """Tells whether some directories have grown by more than `limit_bytes` since the watch began.

    Walking a tree costs milliseconds per thousand files, so it is done only when the file system as a whole
    has grown enough since the last walk for the limit to be in reach, and every few seconds in any case:
    what others remove meanwhile hides growth.
    """

    def __init__(self, roots: Sequence[Path], limit_bytes: int) -> None:
        self._roots = roots
        self._limit = (limit_bytes, max(1000, limit_bytes // _BYTES_PER_FILE))
        self._devices = frozenset(root.stat().st_dev for root in roots)
        self._start = _usage(roots)
        self._grown = (0, 0)
        self._filesystem = self._filesystem_usage()
        self._walked_at = time.monotonic()
        self._walk_seconds = 0.0

    def exceeded(self, pid: int | None = None) -> bool:
        """Tell whether the limit is passed now; `pid` is the root of the processes whose open files count."""
        since = time.monotonic() - self._walked_at
        if since < self._walk_seconds * 5:
            return False
        if not self._in_reach() and since < max(_UNCONDITIONAL_SECONDS, 20 * self._walk_seconds):
            return False
        return self.measure(pid)

    def measure(self, pid: int | None = None) -> bool:
        """Walk the directories now, and tell whether the limit is passed."""
        began = time.monotonic()
        self._filesystem = self._filesystem_usage()
        try:
            ceiling = (self._start[0] + self._limit[0], self._start[1] + self._limit[1])
            now = _usage(self._roots, stop_at=ceiling)
        except TreeTooDeep:
            return True
        deleted = deleted_file_bytes(pid, self._devices) if pid is not None else 0
        self._grown = (now[0] + deleted - self._start[0], now[1] - self._start[1])
        self._walked_at = time.monotonic()
        self._walk_seconds = self._walked_at - began
        return self._grown[0] > self._limit[0] or self._grown[1] > self._limit[1]

    def _in_reach(self) -> bool:
        """Tell whether the file system has grown by what was left of the limit at the last walk."""
        now = self._filesystem_usage()
        left = (self._limit[0] - self._grown[0], self._limit[1] - self._grown[1])
        return now[0] - self._filesystem[0] > left[0] or now[1] - self._filesystem[1] > left[1]

    def _filesystem_usage(self) -> tuple[int, int]:
        counts = [os.statvfs(root) for root in self._roots]
        return (
            sum((count.f_blocks - count.f_bfree) * count.f_frsize for count in counts),
            sum(count.f_files - count.f_ffree for count in counts),
        )


def _usage(roots: Sequence[Path], stop_at: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return (bytes on disk, number of entries). Stops early, with what it has, once one is above `stop_at`.

    Raises TreeTooDeep. What cannot be read counts for nothing here; the next look at the free space sees it.
    """
    used, entries = 0, 0
    linked: set[tuple[int, int]] = set()
    waiting = [os.fspath(root) for root in roots]
    while waiting:
        try:
            listing = list(os.scandir(waiting.pop()))
        except OSError as error:
            _pass_over(error)
            continue
        for entry in listing:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError as error:
                _pass_over(error)
                continue
            entries += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif found.st_nlink > 1:
                if (found.st_dev, found.st_ino) in linked:
                    continue
                linked.add((found.st_dev, found.st_ino))
            used += found.st_blocks * 512
        if stop_at is not None and (used > stop_at[0] or entries > stop_at[1]):
            break
    return used, entries


def _pass_over(error: OSError) -> None:
    """Accept what went away or is out of reach, but not what lies too deep to be counted."""
    if error.errno == errno.ENAMETOOLONG:
        raise TreeTooDeep(
            "a path in the worktree is longer than the kernel takes: it cannot be watched"
        ) from error


def remove_tree(directory: Path) -> None:
    """Remove a directory that an agent may have filled: unreadable directories, thousands of levels deep.

    Nothing may still run in it. Raises SandboxError if something is left.
    """
    if not directory.is_dir() or directory.is_symlink():
        return
    tools = {name: shutil.which(name, path="/usr/bin:/bin") for name in ("chmod", "rm")}
    for arguments in (("chmod", "-R", "u+rwX"), ("rm", "-rf", "--one-file-system")):
        name, *options = arguments
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [tools[name] or name, *options, "--", os.fspath(directory)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={}, cwd="/", check=False, timeout=_REMOVAL_SECONDS,
            )  # fmt: skip
    if directory.exists():
        raise SandboxError(f"{directory} could not be removed; look at its owner and permissions")
