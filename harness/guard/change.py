"""A change as the guard and the verifier see it: every path that differs, with both of its contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.allowing import Allowance

MAX_BYTES = 64 * 2**20
"""The largest file that a change may hold on either side."""


class ChangedPath(Protocol):
    """A path that differs between two trees. Status is A, M, D or T; modes are git's six digits."""

    @property
    def path(self) -> str:
        """The path."""

    @property
    def status(self) -> str:
        """What became of it."""

    @property
    def old_mode(self) -> str:
        """Its mode before."""

    @property
    def new_mode(self) -> str:
        """Its mode now."""


class Trees(Protocol):
    """Where trees are read from and combined: the mirror."""

    def tree_of(self, commit: str) -> str:
        """Return the tree hash of a commit. Raises GitError."""

    def changes(self, base_tree: str, tree: str) -> Sequence[ChangedPath]:
        """Return the paths that differ, sorted. Raises GitError."""

    def read_file(self, tree: str, path: str, limit: int = ..., /) -> bytes | None:
        """Return a regular file's content, or None. Raises GitError, also beyond `limit` bytes."""

    def overlay(self, base_tree: str, from_tree: str, paths: Sequence[str]) -> str:
        """Return `base_tree` with `paths` as in `from_tree`; removes those absent there. Raises GitError."""

    def with_texts(self, tree: str, texts: Mapping[str, bytes]) -> str:
        """Return a tree with other texts in some of its files, whose modes stay. Raises GitError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One path of a change. `old` is None for a new file, `new` for a deleted one; a symlink is empty."""

    path: str
    old: bytes | None
    new: bytes | None
    old_mode: str = "100644"
    new_mode: str = "100644"

    @property
    def old_text(self) -> str:
        """The content before, "" where there was none."""
        return (self.old or b"").decode("utf-8", "replace")

    @property
    def new_text(self) -> str:
        """The content now, "" where there is none."""
        return (self.new or b"").decode("utf-8", "replace")

    @property
    def is_regular(self) -> bool:
        """Whether the new side is a plain file (or gone)."""
        return self.new is None or self.new_mode.startswith("100")

    @property
    def is_binary(self) -> bool:
        """Whether either side holds bytes that are not text."""
        return b"\0" in (self.old or b"")[:8000] or b"\0" in (self.new or b"")[:8000]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Everything that differs between the base and the tree that would be published.

    `allowed` are those of its paths that a maintainer allowed to be changed in exactly this way; `words` are
    what maintainers have said may pass on this issue, findings by their ids.
    """

    base_commit: str
    base_tree: str
    tree: str
    deltas: Mapping[str, Delta]
    allowed: frozenset[str] = frozenset()
    words: tuple[Allowance, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that differ, sorted."""
        return tuple(sorted(self.deltas))

    @property
    def added(self) -> tuple[str, ...]:
        """Paths that are new, sorted."""
        return tuple(path for path in self.paths if self.deltas[path].old is None)

    @property
    def deleted(self) -> tuple[str, ...]:
        """Paths that are gone, sorted."""
        return tuple(path for path in self.paths if self.deltas[path].new is None)


def read_change(trees: Trees, base_commit: str, tree: str) -> Change:
    """Read what differs between a commit and a tree. Raises GitError."""
    base_tree = trees.tree_of(base_commit)
    deltas = {}
    for changed in trees.changes(base_tree, tree):
        old = trees.read_file(base_tree, changed.path, MAX_BYTES) if changed.status != "A" else None
        new = trees.read_file(tree, changed.path, MAX_BYTES) if changed.status != "D" else None
        if changed.status != "D" and new is None:
            new = b""
        if changed.status != "A" and old is None:
            old = b""
        deltas[changed.path] = Delta(
            path=changed.path, old=old, new=new, old_mode=changed.old_mode, new_mode=changed.new_mode
        )
    return Change(base_commit=base_commit, base_tree=base_tree, tree=tree, deltas=deltas)
