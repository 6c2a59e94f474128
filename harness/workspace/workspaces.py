"""Lays out the data directory's working part: who may reach what, what is left over, what it takes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog

from domain.errors import GitError
from domain.model import Repository
from harness.git import GitRunner, Mirror
from harness.stopping import StopSignal
from harness.workspace.decoy import write_decoy
from harness.workspace.mirrors import LAST_USE, KeptMirror
from harness.workspace.removal import give_tree, measure_tree, remove_tree

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """Bytes on disk of mirrors and of worktrees, entries of the latter, and bytes free to us."""

    mirrors: int
    work: int
    work_entries: int
    free: int


class Workspaces:
    """Everything below `root`. `owner` is the sandbox's (uid, gid) when we are root, else None.

    root/ and root/work/ are 0711: the sandbox's user reaches its worktree but can list nothing.
    root/mirrors/ is 0700: it never gets there.
    """

    def __init__(self, root: Path, owner: tuple[int, int] | None, runner: GitRunner) -> None:
        self.root = root.absolute()
        self.owner = owner
        self.runner = runner
        self._mirrors = self.root / "mirrors"
        self._work = self.root / "work"
        for directory, mode in ((self.root, 0o711), (self._mirrors, 0o700), (self._work, 0o711)):
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(mode)

    def stoppable(self, stop: StopSignal) -> Workspaces:
        """Return the same places for one attempt: with the stop, no call to a remote goes on."""
        return Workspaces(self.root, self.owner, self.runner.stoppable(stop))

    def mirror_for(self, repository: Repository) -> Mirror:
        """Return the mirror of a repository, kept by forge and permanent id; it counts as used now.

        Raises GitError.
        """
        mirror = Mirror(self.mirror_path(repository.forge, repository.id), self.runner)
        os.utime(mirror.path / LAST_USE)
        return mirror

    def mirror_path(self, forge: str, repository_id: str) -> Path:
        """Return where a repository's mirror is, or would be."""
        identity = f"{forge}\0{repository_id}".encode("utf-8", "surrogatepass")
        label = re.sub(r"[^a-z0-9]+", "-", forge.casefold()).strip("-")[:20] or "forge"
        return self._mirrors / f"{label}-{hashlib.sha256(identity).hexdigest()[:32]}.git"

    def mirrors(self) -> list[KeptMirror]:
        """Return the mirrors that there are, the longest unused first."""
        found = [
            KeptMirror(path, self.runner)
            for path in self._mirrors.glob("*.git")
            if (path / LAST_USE).exists()
        ]
        return sorted(found, key=lambda kept: kept.used_at)

    def free_bytes(self) -> int:
        """Return how much the file system still takes from us."""
        return shutil.disk_usage(self.root).free

    def open(self, task_id: int, attempt: int) -> Workspace:
        """Return an empty workspace for an attempt; what an earlier life left in its place is removed."""
        place = self._work / f"task-{task_id}-{attempt}"
        remove_tree(place)
        place.mkdir()
        place.chmod(0o711)
        return Workspace(place, self)

    def fresh(self, mirror: Mirror, tree: str) -> Path:
        """Return a new checkout of a tree, without `.git`, owned by the sandbox's user. Raises GitError."""
        number = 1
        while True:
            place = self._work / f"fresh-{tree[:16]}-{number}"
            try:
                place.mkdir()
                break
            except FileExistsError:
                number += 1
        try:
            mirror.materialize(tree, place)
            self.hand_over(place)
        except (GitError, OSError):
            remove_tree(place)
            raise
        return place

    def corner(self, prefix: str) -> Path:
        """Return a new directory beside the worktrees; the sandbox's user may pass through, not list it."""
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=self._work))
        place.chmod(0o711)
        return place

    def hand_over(self, path: Path) -> None:
        """Close a directory to others and give it to the sandbox's user."""
        path.chmod(0o700)
        if self.owner is not None:
            give_tree(path, self.owner)

    def remove(self, path: Path) -> None:
        """Remove a directory below the work directory, whatever state it is in. Raises OSError."""
        if self._work not in path.absolute().parents or ".." in path.parts:
            raise ValueError(f"{path} is not below {self._work}")
        remove_tree(path)

    def sweep(self) -> tuple[str, ...]:
        """Remove every worktree and half-made mirror; call it when no attempt runs. Returns their names."""
        removed = []
        for path in self._leftovers():
            try:
                remove_tree(path)
                removed.append(path.name)
            except OSError as error:
                _log.warning("leftover cannot be removed", path=str(path), error=str(error))
        return tuple(removed)

    def disk(self) -> DiskUse:
        """Return what is used and what is free."""
        mirrors, _ = measure_tree(self._mirrors)
        work, entries = measure_tree(self._work)
        return DiskUse(mirrors=mirrors, work=work, work_entries=entries, free=self.free_bytes())

    def _leftovers(self) -> Iterator[Path]:
        yield from sorted(self._work.iterdir())
        for path in sorted(self._mirrors.iterdir()):
            if path.name.startswith(("new-", "removing-")):
                yield path
            else:
                yield from sorted(path.glob("index-*"))


class Workspace:
    """One attempt's place: `tree` for the agent, `scratch` for its /tmp. Both are the sandbox user's."""

    def __init__(self, path: Path, home: Workspaces) -> None:
        self.path = path
        self.tree = path / "tree"
        self.scratch = path / "scratch"
        self._home = home
        self._mirror: Mirror | None = None

    def fill(self, mirror: Mirror, commit: str, *, branch: str, url: str, tree: str = "") -> None:
        """Write the worktree: `commit` as history in a decoy `.git`, the files of `tree` (default: its own).

        With a `tree` of earlier work, the agent's `git diff` shows that work. Raises GitError.
        """
        for directory in (self.tree, self.scratch):
            remove_tree(directory)
            directory.mkdir()
        mirror.materialize(tree or mirror.tree_of(commit), self.tree)
        write_decoy(mirror, self.tree, commit, branch=branch, url=url)
        self._home.hand_over(self.tree)
        self._home.hand_over(self.scratch)
        self._mirror = mirror

    def fresh(self, tree: str) -> Path:
        """Return a new checkout of a tree for verification; see `Workspaces.fresh`."""
        if self._mirror is None:
            raise GitError("the workspace has not been filled yet")
        return self._home.fresh(self._mirror, tree)

    def disk(self) -> tuple[int, int]:
        """Return the bytes on disk and the entries of this workspace."""
        return measure_tree(self.path)

    def free_inodes(self) -> int:
        """Return how many more files the file system takes."""
        return os.statvfs(self.path).f_favail

    def remove(self) -> None:
        """Remove the workspace, whatever state it is in. Raises OSError."""
        self._home.remove(self.path)
