"""One bare git repository of the embedded forge, by way of dulwich: no process is started."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from domain.errors import ForgeError, ForgeUnavailable, NotFound
from providers.local.objects import (
    EXECUTABLE,
    FILE,
    SYMLINK,
    Content,
    Signature,
    combine,
    files_at,
    object_id,
    store_blobs,
    tree_of,
    write_commit,
)

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.refs import Ref
    from dulwich.repo import Repo


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit as the forge shows it."""

    sha: str
    parents: tuple[str, ...]
    author: str
    message: str


def files_below(directory: Path) -> dict[str, Content]:
    """Return every file below a directory with its git mode; `.git` is left out, links stay links."""
    found: dict[str, Content] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if ".git" in name.parts:
            continue
        if path.is_symlink():
            found[name.as_posix()] = (os.fsencode(path.readlink()), SYMLINK)
        elif path.is_file():
            found[name.as_posix()] = (path.read_bytes(), EXECUTABLE if os.access(path, os.X_OK) else FILE)
    return found


class BareRepository:
    """A bare repository on disk. Opened anew for each operation, as git pushes to it from outside."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, default_branch: str) -> None:
        """Make the repository, empty; what a crash may have left in its place goes.

        Raises ForgeError for a branch name that git does not take.
        """
        from dulwich.repo import Repo

        _branch_ref(default_branch)
        if self.path.exists():
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True)
        Repo.init_bare(self.path, default_branch=os.fsencode(default_branch)).close()

    def move_to(self, path: Path) -> None:
        """Take the repository to another place, which is empty."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = self.path.rename(path)

    def set_head(self, branch: str) -> None:
        """Make another branch the one that a clone checks out. Raises ForgeError."""
        with self._open() as repo:
            repo.refs.set_symbolic_ref(cast("Ref", b"HEAD"), _branch_ref(branch))

    def branches(self) -> dict[str, str]:
        """Return each branch's sha by its name."""
        prefix = b"refs/heads/"
        with self._open() as repo:
            refs = repo.refs.as_dict(cast("Ref", prefix))
        return {os.fsdecode(name): sha.decode() for name, sha in sorted(refs.items())}

    def resolve(self, branch: str) -> str | None:
        """Return the sha that a branch points at, or None when there is no such branch."""
        with self._open() as repo:
            sha = _resolve(repo, branch)
        return sha.decode() if sha else None

    def delete_branch(self, branch: str) -> None:
        """Delete a branch. Raises NotFound."""
        with self._open() as repo:
            if not _resolve(repo, branch):
                raise NotFound(f"there is no branch {branch!r}")
            repo.refs.remove_if_equals(_branch_ref(branch), None)

    def tree(self, commit: str) -> dict[str, tuple[int, str]]:
        """Return mode and blob sha of every file of a commit, by path. Raises NotFound."""
        with self._open() as repo:
            return {
                os.fsdecode(path): (mode, sha.decode())
                for path, (mode, sha) in files_at(repo, commit).items()
            }

    def tree_name(self, commit: str) -> str:
        """Return the name of a commit's tree. Raises NotFound."""
        from dulwich.objects import Commit

        with self._open() as repo:
            try:
                found = repo[commit.encode()]
            except KeyError:
                raise NotFound(f"there is no commit {commit}") from None
            if not isinstance(found, Commit):
                raise NotFound(f"{commit} is not a commit")
            return str(found.tree.decode())

    def read_file(self, commit: str, path: str) -> bytes:
        """Return a file's bytes at a commit. Raises NotFound."""
        with self._open() as repo:
            try:
                _mode, sha = files_at(repo, commit)[os.fsencode(path)]
            except KeyError:
                raise NotFound(f"there is no file {path!r} at {commit}") from None
            return repo.object_store[sha].as_raw_string()

    def commit(
        self,
        branch: str,
        changes: Mapping[str, Content | None],
        signature: Signature,
        *,
        start: str | None = None,
    ) -> str:
        """Put a commit on a branch and return its sha; a path with None is deleted.

        A new branch begins at the commit `start`, or with no parent. Raises ForgeError, ForgeUnavailable.
        """
        with self._open() as repo:
            before = _resolve(repo, branch)
            parent = before or (object_id(start) if start else None)
            files = files_at(repo, parent.decode()) if parent else {}
            blobs = store_blobs(repo, changes)
            for path, blob in blobs.items():
                if blob is None:
                    files.pop(path, None)
                else:
                    files[path] = blob
            sha = write_commit(repo, files, [parent] if parent else [], signature)
            _move_branch(repo, branch, before, sha)
        return sha.decode()

    def log(self, branch: str, limit: int = 1000) -> list[CommitFacts]:
        """Return the newest commits of a branch, newest first. Raises NotFound."""
        with self._open() as repo:
            head = _resolve(repo, branch)
            if head is None:
                raise NotFound(f"there is no branch {branch!r}")
            walker = repo.get_walker(include=[head], max_entries=limit)
            return [
                CommitFacts(
                    sha=entry.commit.id.decode(),
                    parents=tuple(parent.decode() for parent in entry.commit.parents),
                    author=entry.commit.author.decode("utf-8", "replace"),
                    message=entry.commit.message.decode("utf-8", "replace"),
                )
                for entry in walker
            ]

    def has_commits_between(self, base: str, head: str) -> bool:
        """Tell whether `head` has a commit that `base` does not have."""
        with self._open() as repo:
            walker = repo.get_walker(include=[object_id(head)], exclude=[object_id(base)], max_entries=1)
            return next(iter(walker), None) is not None

    def fork_point(self, base: str, head: str) -> str:
        """Return the newest common commit, or "" when two histories share none."""
        from dulwich.graph import find_merge_base

        with self._open() as repo:
            found = find_merge_base(repo, [object_id(base), object_id(head)])
        return found[0].decode() if found else ""

    def diff(self, old: str, new: str) -> str:
        """Return the unified diff from one commit (or "" for nothing) to another."""
        from dulwich.patch import write_tree_diff

        out = io.BytesIO()
        with self._open() as repo:
            old_tree = tree_of(repo, old) if old else None
            write_tree_diff(out, repo.object_store, old_tree, tree_of(repo, new))
        return out.getvalue().decode("utf-8", "replace")

    def merge(self, base_branch: str, head: str, signature: Signature) -> str:
        """Bring a commit into a branch and return the branch's new sha.

        Fast-forward where that is possible; else a merge commit, as long as no file was changed on both
        sides. Raises ForgeError naming the files that were.
        """
        from dulwich.graph import can_fast_forward, find_merge_base

        with self._open() as repo:
            ours, theirs = _resolve(repo, base_branch), object_id(head)
            if ours is None:
                raise ForgeError(f"the base branch {base_branch!r} does not exist")
            if can_fast_forward(repo, theirs, ours):
                return ours.decode()
            new = theirs
            if not can_fast_forward(repo, ours, theirs):
                bases = find_merge_base(repo, [ours, theirs])
                if len(bases) != 1:
                    raise ForgeError("cannot be merged: the branches have no single common ancestor")
                trees = [files_at(repo, sha.decode()) for sha in (bases[0], ours, theirs)]
                new = write_commit(repo, combine(*trees), [ours, theirs], signature)
            _move_branch(repo, base_branch, ours, new)
        return new.decode()

    @contextmanager
    def _open(self) -> Iterator[Repo]:
        from dulwich.errors import NotGitRepository
        from dulwich.repo import Repo

        try:
            repo = Repo(str(self.path))
        except NotGitRepository:
            raise NotFound(f"there is no git repository at {self.path}") from None
        with repo:
            try:
                yield repo
            except OSError as error:
                raise ForgeUnavailable(f"the repository at {self.path} could not be used: {error}") from error


def _branch_ref(branch: str) -> Ref:
    from dulwich.refs import check_ref_format

    ref = cast("Ref", b"refs/heads/" + os.fsencode(branch))
    if branch.startswith("-") or not check_ref_format(ref):
        raise ForgeError(f"{branch!r} is not a branch name that git takes")
    return ref


def _resolve(repo: Repo, branch: str) -> ObjectID | None:
    try:
        return repo.refs[_branch_ref(branch)]
    except (KeyError, ForgeError):
        return None


def _move_branch(repo: Repo, branch: str, before: ObjectID | None, after: ObjectID) -> None:
    """Point a branch at a commit if it is still where it was seen."""
    ref = _branch_ref(branch)
    if before is None:
        moved = repo.refs.add_if_new(ref, after)
    else:
        moved = repo.refs.set_if_equals(ref, before, after)
    if not moved:
        raise ForgeUnavailable(f"the branch {branch!r} moved meanwhile")
