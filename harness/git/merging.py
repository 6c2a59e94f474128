"""Merges two commits in our own repository: no worktree, no index, no driver that a repository names."""

from __future__ import annotations

import os
from dataclasses import dataclass

from harness.git.runner import GitRunner, Limits, Place
from harness.git.values import object_name


@dataclass(frozen=True, slots=True)
class Merged:
    """What two commits come to. With `conflicts`, paths in git's order, the tree is of no use."""

    tree: str
    conflicts: tuple[str, ...] = ()


def merge(git: GitRunner, place: Place, ours: str, theirs: str) -> Merged:
    """Merge two commits that have a common ancestor. Raises GitError where they have none."""
    done = git.call(
        place,
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        object_name(ours),
        object_name(theirs),
        limits=Limits(seconds=120),
    )
    if done.code not in {0, 1}:
        raise done.failure()
    tree, *paths = os.fsdecode(done.output).rstrip("\0\n").split("\0")
    return Merged(object_name(tree), tuple(paths) if done.code else ())
