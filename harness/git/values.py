"""What the mirror answers with, and checks of the names that go into git's arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from domain.errors import GitError
from harness.change.model import Exclusion, TreeEntry

__all__ = [
    "OWN_REFS",
    "LogEntry",
    "Snapshot",
    "TreeEntry",
    "branch_ref",
    "object_name",
    "own_ref",
    "repository_path",
]

OWN_REFS = "refs/fixwright/"
"""Where our own refs are, out of reach of any remote branch."""

_OBJECT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_FORBIDDEN_IN_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|[/.]\Z|\A[./]|\A@\Z")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A worktree as a tree. `excluded` was left out by us, `ignored` are new paths the repository ignores.

    `ignored` is cut off after 200 paths; `ignored_count` says how many there were.
    """

    tree: str
    excluded: tuple[Exclusion, ...] = ()
    ignored: tuple[str, ...] = ()
    ignored_count: int = 0


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A commit in a history. `author` is "Name <address>"; subjects and names are untrusted text."""

    sha: str
    parents: tuple[str, ...]
    author: str
    committed_at: datetime
    subject: str


def object_name(sha: str) -> str:
    """Return a full object name unchanged. Raises GitError for anything else."""
    if not _OBJECT.match(sha):
        raise GitError(f"not a full object name: {sha[:80]!r}")
    return sha


def branch_ref(branch: str) -> str:
    """Return `refs/heads/BRANCH` for whatever git takes as a branch name. Raises GitError."""
    if not branch or branch.startswith("-") or _FORBIDDEN_IN_REF.search(branch) or len(branch.encode()) > 240:
        raise GitError(f"not a branch name that git takes: {branch[:80]!r}")
    return f"refs/heads/{branch}"


def own_ref(name: str) -> str:
    """Return the full name of one of our own refs, which no remote branch can touch. Raises GitError."""
    if not name or name.startswith("-") or _FORBIDDEN_IN_REF.search(name) or len(name) > 200:
        raise GitError(f"not a name for a ref: {name[:80]!r}")
    return OWN_REFS + name


def repository_path(path: str) -> str:
    """Return a path below a repository's root unchanged. Raises GitError."""
    steps = path.split("/")
    if not path or "\0" in path or any(step in {"", ".", ".."} for step in steps):
        raise GitError(f"not a path inside a repository: {path[:200]!r}")
    return path
