"""The git objects of a repository: trees read flat, blobs and commits written, two sides combined."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from domain.errors import ForgeError, NotFound
from domain.model import Actor

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

FILE = 0o100644
EXECUTABLE = 0o100755
SYMLINK = 0o120000

SEED_TIME = datetime(2024, 1, 1, tzinfo=UTC)
"""The date of commits unless told otherwise: the same files give the same commit everywhere."""

Content = tuple[bytes, int] | bytes
"""A file's bytes with its git mode, or bytes alone for an ordinary file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who a commit is by, when, and what it says."""

    author: Actor
    message: str
    when: datetime = SEED_TIME

    @property
    def line(self) -> bytes:
        """The author as git writes it; the address is one that no mail can reach."""
        name = "".join(char for char in self.author.login if char not in "<>\n\x00")
        return f"{name} <{self.author.id}+{name.replace(' ', '-')}@local.invalid>".encode()


Files = dict[bytes, tuple[int, "ObjectID"]]
"""Mode and blob by path: a tree with its directories taken out."""


def object_id(sha: str) -> ObjectID:
    """Return a sha in the type that dulwich wants."""
    return cast("ObjectID", sha.encode())


def tree_of(repo: Repo, commit: str) -> ObjectID:
    """Return the tree of a commit. Raises NotFound."""
    from dulwich.objects import Commit

    try:
        found = repo.object_store[object_id(commit)]
    except (KeyError, ValueError, AssertionError):
        raise NotFound(f"there is no commit {commit!r}") from None
    if not isinstance(found, Commit):
        raise NotFound(f"{commit} is not a commit")
    tree: ObjectID = found.tree
    return tree


def files_at(repo: Repo, commit: str) -> Files:
    """Return mode and blob of every file of a commit, by path. Raises NotFound."""
    from dulwich.object_store import iter_tree_contents

    entries = iter_tree_contents(repo.object_store, tree_of(repo, commit))
    return {entry.path: (entry.mode, entry.sha) for entry in entries}


def store_blobs(
    repo: Repo, changes: Mapping[str, Content | None]
) -> dict[bytes, tuple[int, ObjectID] | None]:
    """Write the contents as one pack, and return where each went."""
    from dulwich.objects import Blob

    placed: dict[bytes, tuple[int, ObjectID] | None] = {}
    blobs: list[Blob] = []
    for name, content in changes.items():
        if content is None:
            placed[_path(name)] = None
            continue
        data, mode = content if isinstance(content, tuple) else (content, FILE)
        blob = Blob.from_string(data)
        blobs.append(blob)
        placed[_path(name)] = (mode, blob.id)
    if blobs:
        repo.object_store.add_objects([(blob, None) for blob in blobs])
    return placed


def _path(name: str) -> bytes:
    parts = name.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise ForgeError(f"{name!r} cannot be a path in a repository")
    return os.fsencode(name)


def write_commit(repo: Repo, files: Files, parents: list[ObjectID], signature: Signature) -> ObjectID:
    """Write a commit of exactly these files and return its id. Raises ForgeError."""
    from dulwich.index import commit_tree
    from dulwich.objects import Commit

    for path in files:
        if any(path[:cut] in files for cut, char in enumerate(path) if char == ord("/")):
            raise ForgeError(f"{os.fsdecode(path)!r} lies below a file")
    commit = Commit()
    commit.tree = commit_tree(repo.object_store, [(path, sha, mode) for path, (mode, sha) in files.items()])
    commit.parents = parents
    commit.author = commit.committer = signature.line
    commit.author_time = commit.commit_time = int(signature.when.timestamp())
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding = b"UTF-8"
    commit.message = signature.message.rstrip("\n").encode("utf-8", "replace") + b"\n"
    repo.object_store.add_object(commit)
    return commit.id


def combine(base: Files, ours: Files, theirs: Files) -> Files:
    """Take each file from the side that changed it. Raises ForgeError naming files changed on both."""
    merged = dict(ours)
    conflicts = []
    for path in base.keys() | ours.keys() | theirs.keys():
        was, our, their = base.get(path), ours.get(path), theirs.get(path)
        if their in (was, our):
            continue
        if our != was:
            conflicts.append(os.fsdecode(path))
        elif their is None:
            merged.pop(path, None)
        else:
            merged[path] = their
    if conflicts:
        raise ForgeError(f"cannot be merged: changed on both sides: {', '.join(sorted(conflicts)[:10])}")
    return merged
