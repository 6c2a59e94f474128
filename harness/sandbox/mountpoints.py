"""Keeps the directories that the agent can write fit for mounting, and mount points inside them clear.

The operator's tools are shown at their own path, which may happen to lie under /tmp or /work. Bubblewrap then
makes the mount point inside the agent's directory, so a link that the agent left there must not lead it away.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from domain.errors import SandboxError


class MountPoints:
    """The writable host directories, and mount points in them: a directory and a path in it."""

    def __init__(self, roots: Iterable[Path], points: Iterable[tuple[Path, PurePosixPath]]) -> None:
        self._roots = tuple(roots)
        self._points = tuple(points)
        self._new: list[Path] = []
        """Directories that were not there before us, deepest first."""
        for root, relative in self._points:
            steps = _steps(root, relative)
            if (obstacle := _obstacle(steps)) is not None:
                raise SandboxError(
                    f"{obstacle} is in the way of a tool directory; have the tools outside of /work and /tmp"
                )
            self._new += [step for step in reversed(steps) if not step.exists()]

    def clear_the_way(self) -> None:
        """Remove links and files that stand where a mount point must be, and open what the agent has shut.

        No command may be running. Raises SandboxError.
        """
        try:
            for root in self._roots:
                _open_up(root)
            for root, relative in self._points:
                for step in _steps(root, relative):
                    if (obstacle := _obstacle([step])) is not None:
                        obstacle.unlink()
                    _open_up(step)  # before the next step, which may lie behind it
        except OSError as error:
            raise SandboxError(f"the way to a mount point cannot be cleared: {error}") from error

    def remove(self) -> None:
        """Remove the mount points that came into being with us, unless the agent has put something there."""
        for directory in self._new:
            with suppress(OSError):
                directory.rmdir()


def _steps(root: Path, relative: PurePosixPath) -> list[Path]:
    """Return every directory on the way from `root` to the mount point, shallow first."""
    return [root / parent for parent in (*reversed(relative.parents), relative) if parent.parts]


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
