"""What a snapshot does to protected paths: which they are here, and whether somebody allowed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from domain.allowing import Allowance
from domain.model import ProtectedChange
from domain.repo_config import RepoConfig
from harness.change import DEFAULT_PROTECTED, LOCKFILES, FileChange, behind_links, exact_name, protected_part
from harness.change.protected import is_protected_link
from harness.git import Mirror

PATCH_BYTES = 24_000
"""Of a protected change, as much is shown to whoever may allow it; a forge's comment holds 65,536."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A change of protected paths, and the word by which it may be made."""

    change: ProtectedChange
    word: Allowance


@dataclass(frozen=True)
class Protection:
    """One repository's protected paths: the defaults, always, and what its own file and the operator add."""

    mirror: Mirror
    base_tree: str
    config: RepoConfig
    everywhere: Sequence[str] = ()

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """All of them, with what protected symlinks of the base lead to."""
        lockfiles = LOCKFILES if self.config.protect_lockfiles else ()
        named = (*DEFAULT_PROTECTED, *self.everywhere, *self.config.protected_paths, *lockfiles)
        links = self.mirror.links(self.base_tree, lambda path: is_protected_link(path, named))
        return (*named, *behind_links(links, named))

    def touched(self, changes: Sequence[FileChange], tree: str) -> ProtectedChange | None:
        """Return what a change does to protected paths, None where it leaves them alone. Raises GitError."""
        part = protected_part(changes, self.patterns)
        if not part:
            return None
        paths = tuple(change.path for change in part)
        alone = self.mirror.overlay(self.base_tree, tree, paths)
        return ProtectedChange(
            name=exact_name(part),
            paths=tuple(path.encode("utf-8", "backslashreplace").decode() for path in paths),
            patch=self.mirror.patch(self.base_tree, alone, limit=PATCH_BYTES),
        )


def allowed_by(change: ProtectedChange | None, words: Sequence[Allowance]) -> Allowed | None:
    """Return the change with the word that allows exactly it, or None."""
    if change is None:
        return None
    word = next((word for word in words if word.change == change.name), None)
    return Allowed(change=change, word=word) if word else None
