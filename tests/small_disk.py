"""A small disk that can really be full: a file system in memory of its own. Needs root that may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted file system of a few mebibytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, leave: int = 0) -> None:
        """Take all the room there is, but for `leave` bytes."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (2**16, 4096):
                try:
                    while True:
                        file.write(b"\xff" * size)
                except OSError:
                    pass
            if leave:
                file.truncate(max(0, file.tell() - leave))
        assert self.free() <= leave + 4096

    def make_room(self) -> None:
        """Give back what `fill` took."""
        self._filler.unlink()

    def free(self) -> int:
        status = os.statvfs(self.path)
        return status.f_bavail * status.f_frsize


@contextmanager
def small_disk(path: Path, megabytes: int, entries: int = 0) -> Iterator[SmallDisk]:
    """Mount a disk at `path`, made if absent, for so many bytes and so many files (0: no matter).

    Skips the test, with the reason, where that is not allowed.
    """
    path.mkdir(parents=True, exist_ok=True)
    mode = f"{path.stat().st_mode & 0o7777:o}"
    options = f"size={megabytes}m,nr_inodes={entries},mode={mode}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, timeout=20, check=False)
    except OSError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True, timeout=20)
