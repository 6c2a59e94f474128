"""A mirror as housekeeping sees it: when it was used, what it takes, whose unpublished work is in it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from harness.git import GitRunner, Mirror
from harness.workspace.removal import measure_tree, remove_tree

LAST_USE = "HEAD"
"""The file in a mirror whose time says when the mirror was last used. Git itself never writes it again."""

_TIDIED = "tidied"
KEPT_BASELINES = "baselines"
"""The directory in a mirror that holds test runs of its commits."""

_CACHES = ("decoy", KEPT_BASELINES)
_ATTEMPT_REF = re.compile(r"attempts/(\d{1,18})")


class KeptMirror:
    """One mirror on disk. What is done with it here does not count as a use."""

    def __init__(self, path: Path, runner: GitRunner) -> None:
        self.path = path
        self._runner = runner
        self.used_at = _time_of(path / LAST_USE) or datetime.fromtimestamp(0, UTC)

    @property
    def tidied_at(self) -> datetime | None:
        """When it was last tidied, or None."""
        return _time_of(self.path / _TIDIED)

    def bytes(self) -> int:
        """Return what it takes on disk."""
        return measure_tree(self.path)[0]

    def attempts(self) -> frozenset[int]:
        """Return the ids of the attempts whose work is kept in it. Raises GitError."""
        found = (_ATTEMPT_REF.fullmatch(name) for name in self._open().own_refs())
        return frozenset(int(match[1]) for match in found if match)

    def forget_attempt(self, attempt_id: int) -> None:
        """Let go of an attempt's work; its objects go with a later tidying. Raises GitError."""
        self._open().delete_ref(f"attempts/{attempt_id}")

    def tidy(self) -> None:
        """Pack it, and note that it was done, also where that failed: not again at every turn.

        May take minutes. Raises GitError.
        """
        (self.path / _TIDIED).touch()
        self._open().tidy()

    def drop_caches(self) -> None:
        """Remove what can be made again from the mirror itself. Raises OSError."""
        for name in _CACHES:
            remove_tree(self.path / name)

    def remove(self) -> None:
        """Remove it; the next fetch makes it anew. Raises OSError."""
        remove_tree(self.path)

    def _open(self) -> Mirror:
        return Mirror(self.path, self._runner)


def _time_of(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None
