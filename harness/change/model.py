"""The values of a change: entries of a tree, files that differ, lines that were added."""

from __future__ import annotations

from dataclasses import dataclass

REGULAR = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
GITLINK = "160000"
ABSENT = "000000"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file in a git tree: six-digit octal mode, object name, bytes (0 for a gitlink)."""

    mode: str
    sha: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A path that differs between two trees. Status A added, M modified, D deleted, T type changed.

    Renames are a deletion and an addition. Paths that are not UTF-8 carry surrogates (`os.fsdecode`).
    `lines_added` and `lines_removed` are 0 for binary files; `size` is of the new side, in bytes;
    `target` is where a new or changed symlink points; `filter` is the `filter` attribute on the base.
    """

    path: str
    status: str
    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    size: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    binary: bool = False
    target: str = ""
    filter: str = ""


@dataclass(frozen=True, slots=True)
class AddedLine:
    """A line that a change adds; `line` counts from 1 in the new file."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Something in the worktree that was left out of the snapshot, and why. A directory ends in "/"."""

    path: str
    why: str
