"""What a set-up left in its checkout that git does not track: found without following a single link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST = 200
"""Each becomes a mount of its own in every later session."""

REBUILT = frozenset(
    {
        *(
            "target",
            "build",
            "dist",
            "out",
            ".gradle",
            "coverage",
            ".nyc_output",
            ".next",
            ".turbo",
            "__pycache__",
        ),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".git", ".cache"),
    }
)
"""Left out: test runs write there, which a read-only copy would not let them, and what was built from the
base must not stand in for the change.
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A path below the root that came into being with the set-up."""

    path: str
    is_directory: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """What is kept, and what is not (path and why)."""

    kept: tuple[Made, ...]
    left: tuple[str, ...]


def find_made(checkout: Path, tracked: Iterable[str]) -> Findings:
    """Return the topmost paths of a checkout that are not tracked. Nothing may run in it any more."""
    files = set(tracked)
    directories = {str(parent) for path in files for parent in PurePosixPath(path).parents}
    kept: list[Made] = []
    left: list[str] = []
    for path, mode in _untracked(checkout, files, directories):
        name = path.rpartition("/")[2]
        if name in REBUILT or name.endswith((".pyc", ".lock.tmp")):
            left.append(f"{path} (built anew by each run)")
        elif stat.S_ISDIR(mode):
            if _is_filled(checkout / path):
                kept.append(Made(path, True))
        elif stat.S_ISREG(mode):
            kept.append(Made(path, False))
        else:
            left.append(f"{path} (neither a file nor a directory)")
    over = [f"{each.path} (more than {MOST} paths)" for each in kept[MOST:]]
    return Findings(tuple(kept[:MOST]), (*left, *over))


def _untracked(checkout: Path, files: set[str], directories: set[str]) -> Iterator[tuple[str, int]]:
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        with os.scandir(checkout / directory) as listing:
            found = sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in listing)
        for name, mode in found:
            path = f"{directory}/{name}" if directory else name
            if path in directories and stat.S_ISDIR(mode):
                waiting.append(path)
            elif path not in files and path not in directories:
                yield path, mode


def _is_filled(directory: Path) -> bool:
    with os.scandir(directory) as listing:
        return next(listing, None) is not None
