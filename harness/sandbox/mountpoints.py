"""Keeps the directories that the agent can write fit for mounting, and mount points inside them clear.

The operator's tools are shown at their own path, which may happen to lie under /tmp or /work, and what a
set-up made lies under /work. Bubblewrap then makes the mount point inside the agent's directory, so a link
that the agent left there must not lead it away.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from domain.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Point:
    """A mount point: the host directory that the agent can write, the place in it, whether for a file."""

    root: Path
    relative: PurePosixPath
    is_file: bool = False


class MountPoints:
    """The writable host directories, and the mount points in them."""

    def __init__(self, roots: Iterable[Path], points: Iterable[Point]) -> None:
        self._roots = tuple(roots)
        self._points = tuple(points)
        self._new: list[Path] = []
        """Directories, and empty files, that were not there before us, deepest first."""
        for point in self._points:
            steps = _steps(point)
            if (obstacle := _obstacle(steps)) is not None:
                raise SandboxError(
                    f"{obstacle} is in the way of a tool directory; have the tools outside of /work and /tmp"
                )
            place = [point.root / point.relative] if point.is_file else []
            if place and place[0].is_dir():
                raise SandboxError(f"{place[0]} is a directory, where a file is to be shown")
            self._new += [step for step in (*place, *reversed(steps)) if not step.exists()]

    def clear_the_way(self) -> None:
        """Remove links and files that stand where a mount point must be, and open what the agent has shut.

        No command may be running. Raises SandboxError.
        """
        try:
            for root in self._roots:
                _open_up(root)
            for point in self._points:
                for step in _steps(point):
                    if (obstacle := _obstacle([step])) is not None:
                        obstacle.unlink()
                    _open_up(step)  # before the next step, which may lie behind it
                if point.is_file:
                    _clear_for_file(point.root / point.relative)
        except OSError as error:
            raise SandboxError(f"the way to a mount point cannot be cleared: {error}") from error

    def remove(self) -> None:
        """Remove the mount points that came into being with us, unless the agent has put something there."""
        for place in self._new:
            with suppress(OSError):
                found = place.lstat()
                if stat.S_ISDIR(found.st_mode):
                    place.rmdir()
                elif stat.S_ISREG(found.st_mode) and not found.st_size:
                    place.unlink()


def _steps(point: Point) -> list[Path]:
    """Return every directory on the way from the root to the mount point, shallow first."""
    last = () if point.is_file else (point.relative,)
    return [point.root / parent for parent in (*reversed(point.relative.parents), *last) if parent.parts]


def _clear_for_file(place: Path) -> None:
    """Remove a link, or an empty directory, from where a file is to be shown."""
    try:
        mode = place.lstat().st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        place.rmdir()
    elif not stat.S_ISREG(mode):
        place.unlink()


def _obstacle(steps: list[Path]) -> Path | None:
    """Return the first step that exists and is not a directory itself."""
    for step in steps:
        try:
            mode = step.lstat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            return step
    return None


def _open_up(directory: Path) -> None:
    """Give the owner of a directory back what its mode denies: the agent may have shut its own worktree."""
    try:
        mode = directory.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        directory.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
