"""Decides which paths of a scanned worktree go into its tree: what is new, changed or gone. Pure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Set
from dataclasses import dataclass

from harness.change.model import GITLINK, SYMLINK, Exclusion, TreeEntry
from harness.change.names import points_inside
from harness.change.scan import TREE_LIMIT, Entry, Scan, ScanLimits, refusal

SYMLINK_OUTSIDE = "CHANGE-SYMLINK-OUTSIDE"


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths to take from the worktree, paths of the base that are gone, and what was left out."""

    present: tuple[str, ...]
    gone: tuple[str, ...]
    excluded: tuple[Exclusion, ...]


def select(scan: Scan, tracked: Mapping[str, TreeEntry], ignored: Set[str], limits: ScanLimits) -> Selection:
    """Return what a snapshot takes. `ignored` are new paths that the repository's rules ignore.

    Raises:
        PolicyRefusal: too many new files, or a symlink that is new and leads out of the tree.
    """
    excluded = list(scan.excluded)
    present: list[str] = []
    new = 0
    for path, entry in scan.entries.items():
        if path in ignored:
            continue
        old = tracked.get(path)
        new += old is None
        if new > limits.new_files:
            raise refusal(TREE_LIMIT, path, "change", f"more than {limits.new_files} new files")
        if _is_too_large(entry, old, limits):
            excluded.append(Exclusion(path, f"{entry.size} bytes, more than {limits.new_file_bytes}"))
            continue
        _check_symlink(path, entry, old)
        present.append(path)
    return Selection(tuple(present), _gone(scan, tracked), tuple(excluded))


def _gone(scan: Scan, tracked: Mapping[str, TreeEntry]) -> tuple[str, ...]:
    """Return base paths that the worktree lacks. Submodules and left out places keep what the base has."""
    kept = {exclusion.path for exclusion in scan.excluded}
    return tuple(
        path
        for path, entry in tracked.items()
        if entry.mode != GITLINK and path not in scan.entries and path not in kept
    )


def _is_too_large(entry: Entry, old: TreeEntry | None, limits: ScanLimits) -> bool:
    """A file may stay as large as the base has it, but not become too large by this change."""
    before = old.size if old is not None else 0
    return entry.size > max(limits.new_file_bytes, before)


def _check_symlink(path: str, entry: Entry, old: TreeEntry | None) -> None:
    if entry.mode != SYMLINK or points_inside(path, entry.target):
        return
    if old is not None and old.mode == SYMLINK and old.sha == _blob_name(entry.target, len(old.sha)):
        return
    raise refusal(SYMLINK_OUTSIDE, path, "symlink", f"leads out of the repository, to {entry.target[:200]!r}")


def _blob_name(target: str, digits: int) -> str:
    """Return the object name that git gives to a symlink with this target."""
    content = os.fsencode(target)
    digest = hashlib.new("sha256" if digits == 64 else "sha1", usedforsecurity=False)
    digest.update(b"blob %d\0" % len(content) + content)
    return digest.hexdigest()
