"""A bare copy of a remote repository, out of the agent's reach: fetch, refs, history, commits, push."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path

from domain.errors import GitError
from domain.model import CloneAccess, PastChange
from harness.change import DEFAULT_LIMITS, AddedLine, FileChange, ScanLimits, TreeEntry
from harness.git import difference, history, merging, pushing, trees
from harness.git.environment import ATTRIBUTES, Person
from harness.git.runner import GitRunner, Limits, Place
from harness.git.values import OWN_REFS, LogEntry, Snapshot, branch_ref, object_name, own_ref

_FETCHED = "+refs/heads/*:refs/remotes/origin/*"
_LOCK_POLL_SECONDS = 0.02
_LEFT_BEHIND = ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*")
# For remotes on this machine: their owner may be another user than ours, which git would refuse.
_LOCAL_UPLOAD = "--upload-pack=git -c safe.directory=* upload-pack"


class Mirror:
    """One bare repository at `path`, made on first use; nothing in it comes from a worktree's `.git`.

    Every method may raise GitError. Object names are full, lower-case hexadecimal.
    """

    def __init__(self, path: Path, runner: GitRunner, *, fetch_seconds: float = 900.0) -> None:
        self.path = path.absolute()
        self.runner = runner
        self.place = Place(git_dir=self.path)
        self._network = Limits(seconds=fetch_seconds)
        if not (self.path / "HEAD").exists():
            self._create()

    # -- the remote ---------------------------------------------------------------------------------

    def fetch(self, access: CloneAccess, branches: Sequence[str] | None = None) -> None:
        """Bring refs/remotes/origin/* to the remote's heads, all or the named ones; gone heads go."""
        with self._locked():
            wanted = [_FETCHED] if branches is None else self._existing(access, branches)
            if not wanted:
                return
            try:
                self._fetch(access, wanted, prune=branches is None)
            except GitError:
                self._forget_unfinished()
                raise

    def _fetch(self, access: CloneAccess, wanted: Sequence[str], *, prune: bool) -> None:
        self.runner.run(
            self.place,
            "fetch",
            *(["--prune"] if prune else []),
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--force",
            *([_LOCAL_UPLOAD] if access.protocol == "file" else []),
            "--end-of-options",
            access.url,
            *wanted,
            limits=self._network,
            access=access,
        )

    def _forget_unfinished(self) -> None:
        """Remove the objects that git had begun to write: on a full disk they would take the last room."""
        for unfinished in (*self.path.glob("objects/pack/tmp_*"), *self.path.glob("objects/??/tmp_obj_*")):
            unfinished.unlink(missing_ok=True)

    def remote_heads(self, access: CloneAccess) -> dict[str, str]:
        """Return the remote's branches and their commits, asked now."""
        upload = [_LOCAL_UPLOAD] if access.protocol == "file" else []
        listing = self.runner.run(
            self.place,
            "ls-remote",
            "--heads",
            "--quiet",
            *upload,
            "--end-of-options",
            access.url,
            limits=Limits(seconds=60),
            access=access,
        )
        pairs = (line.split("\t", 1) for line in os.fsdecode(listing).splitlines() if "\t" in line)
        return {name.removeprefix("refs/heads/"): sha for sha, name in pairs}

    def remote_head(self, access: CloneAccess, branch: str) -> str:
        """Return the commit of a remote branch, asked now, or "" where there is none."""
        branch_ref(branch)
        return self.remote_heads(access).get(branch, "")

    def push(self, access: CloneAccess, sha: str, branch: str, expected_sha: str) -> None:
        """Put a commit on a remote branch that must be at `expected_sha` ("" for: must not exist).

        Success as well when the branch is at `sha` already. Raises BranchMoved, PushRefused,
        CredentialRefused, GitUnavailable, GitError; after any of them nothing was overwritten.
        """
        pushing.push(self, access, sha=sha, branch=branch, expected=expected_sha)

    # -- refs and history ---------------------------------------------------------------------------

    def default_head(self, branch: str) -> str:
        """Return the commit of a branch as last fetched, or "" (an empty repository, a branch not there)."""
        return self._ref("refs/remotes/origin/" + branch_ref(branch).removeprefix("refs/heads/"))

    def resolve(self, ref: str) -> str:
        """Return the commit that a full object name or full ref means. Raises GitError."""
        sha = self._ref(ref)
        if not sha:
            raise GitError(f"no commit is known as {ref[:100]!r}")
        return sha

    def ref(self, name: str) -> str:
        """Return the commit of one of our own refs, or ""."""
        return self._ref(own_ref(name))

    def own_refs(self) -> tuple[str, ...]:
        """Return the names of all refs of our own, as `ref` takes them."""
        shown = self.runner.run(self.place, "for-each-ref", "--format=%(refname)", OWN_REFS)
        return tuple(line.removeprefix(OWN_REFS) for line in os.fsdecode(shown).splitlines())

    def set_ref(self, name: str, sha: str) -> None:
        """Keep a commit under one of our own refs, replacing what it was."""
        with self._locked():
            self.runner.run(self.place, "update-ref", "--no-deref", own_ref(name), object_name(sha))

    def delete_ref(self, name: str) -> None:
        """Forget one of our own refs; one that is not there is fine."""
        with self._locked():
            self.runner.run(self.place, "update-ref", "--no-deref", "-d", own_ref(name))

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Tell whether a commit is part of another's history, itself included."""
        done = self.runner.call(
            self.place, "merge-base", "--is-ancestor", object_name(ancestor), object_name(descendant)
        )
        if done.code not in {0, 1}:
            raise done.failure()
        return done.code == 0

    def merge_base(self, one: str, other: str) -> str:
        """Return the best common ancestor of two commits, or ""."""
        done = self.runner.call(self.place, "merge-base", object_name(one), object_name(other))
        if done.code not in {0, 1}:
            raise done.failure()
        return done.output.decode().strip()

    def merge(self, ours: str, theirs: str) -> merging.Merged:
        """Return what two commits with a common ancestor come to, or the paths at which they conflict."""
        return merging.merge(self.runner, self.place, ours, theirs)

    def log(self, base: str, head: str, limit: int = 200) -> tuple[LogEntry, ...]:
        """Return commits of `head` that `base` lacks, newest first; base "" means the whole history."""
        shown = self.runner.run(
            self.place,
            "rev-list",
            "--no-commit-header",
            f"--max-count={limit}",
            "--format=%H%x00%P%x00%an <%ae>%x00%cI%x00%s",
            object_name(head),
            *(["^" + object_name(base)] if base else []),
        )
        return tuple(_log_entry(line) for line in shown.decode("utf-8", "replace").split("\n") if line)

    def past_changes(self, head: str, limit: int = 400) -> tuple[PastChange, ...]:
        """Return the commits that led to `head`, newest first, with the paths that each touched."""
        return history.past_changes(self.runner, self.place, head, limit)

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        *,
        author: Person | None = None,
        when: datetime,
    ) -> str:
        """Write a commit, the message word for word; the same arguments always give the same name.

        The committer is the runner's; `author` defaults to it. `when` is aware.
        """
        date = f"@{int(when.timestamp())} +0000"
        people = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        if author is not None:
            who = author.cleaned()
            people |= {"GIT_AUTHOR_NAME": who.name, "GIT_AUTHOR_EMAIL": who.email}
        flags = [part for parent in parents for part in ("-p", object_name(parent))]
        text = message.replace("\0", "").rstrip("\n") + "\n"
        done = self.runner.call(
            self.place,
            "commit-tree",
            *flags,
            "-F",
            "-",
            object_name(tree),
            stdin=text.encode("utf-8", "replace"),
            people=people,
        )
        if done.code:
            raise done.failure()
        return done.output.decode().strip()

    def tidy(self) -> None:
        """Pack what fetches and snapshots left loose; what nothing refers to for two weeks goes."""
        with self._locked():
            limits = Limits(seconds=1800)
            self.runner.run(self.place, "repack", "-A", "-d", "-l", "-q", limits=limits)
            self.runner.run(self.place, "prune", "--expire=2.weeks.ago", limits=limits)

    # -- trees --------------------------------------------------------------------------------------

    def tree_of(self, commit: str) -> str:
        """Return the tree of a commit."""
        done = self.runner.run(
            self.place,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            object_name(commit) + "^{tree}",
        )
        return done.decode().strip()

    def list_files(self, tree: str) -> dict[str, TreeEntry]:
        """Return every file of a tree (or commit) by path, in git's order."""
        return trees.list_files(self.runner, self.place, tree)

    def read_file(self, treeish: str, path: str, limit: int = 2**20) -> bytes | None:
        """Return a regular file's bytes, or None where there is none; symlinks are not followed.

        Raises GitError for a file of more than `limit` bytes.
        """
        return trees.read_file(self.runner, self.place, treeish, path, limit=limit)

    def links(self, tree: str, wanted: Callable[[str], bool]) -> tuple[tuple[str, str], ...]:
        """Return path and target of those symlinks of a tree whose paths are wanted."""
        return trees.links(self.runner, self.place, tree, wanted)

    def materialize(self, tree: str, into: Path) -> None:
        """Write a tree's files, as they are, into an empty directory; submodules become empty directories."""
        with self.throwaway(work_tree=into) as place:
            trees.check_out(self.runner, place, tree)

    def snapshot(self, worktree: Path, base_tree: str, limits: ScanLimits = DEFAULT_LIMITS) -> Snapshot:
        """Return a worktree as a tree on top of `base_tree`. The agent must be dead.

        New files that the repository ignores are left out; tracked files are taken whatever any ignore rule
        says. Raises PolicyRefusal for what must not be published.
        """
        with self.throwaway(work_tree=worktree) as place:
            return trees.snapshot(self.runner, place, base_tree, limits)

    def overlay(self, base_tree: str, from_tree: str, paths: Sequence[str]) -> str:
        """Return the base tree with these files or directories as another tree has them, or lacks them."""
        with self.throwaway() as place:
            return trees.overlay(self.runner, place, base_tree, from_tree, paths=paths)

    def with_texts(self, tree: str, texts: Mapping[str, bytes]) -> str:
        """Return a tree with other texts in some of its files, whose modes stay."""
        with self.throwaway() as place:
            return trees.with_texts(self.runner, place, tree, texts)

    def changes(self, base_tree: str, tree: str) -> tuple[FileChange, ...]:
        """Return every path that differs, in git's order."""
        with self.throwaway() as place:
            return difference.changes(self.runner, place, base_tree, tree)

    def patch(self, base_tree: str, tree: str, context: int = 3, limit: int = 2 * 2**20) -> str:
        """Return the difference as text for people, cut off with a note after `limit` bytes."""
        return difference.patch(self.runner, self.place, base_tree, tree, context=context, limit=limit)

    def fingerprint(self, base_tree: str, tree: str) -> str:
        """Return a name for what a change does: the same for the same lines on another base."""
        with self.throwaway() as place:
            return difference.fingerprint(self.runner, place, base_tree, tree)

    def added_lines(self, base_tree: str, tree: str) -> tuple[AddedLine, ...]:
        """Return every line that a change adds, binary files included. Raises GitError beyond 64 MiB."""
        return difference.added_lines(self.runner, self.place, base_tree, tree)

    # -- inside -------------------------------------------------------------------------------------

    @contextmanager
    def throwaway(self, work_tree: Path | None = None) -> Iterator[Place]:
        """Yield a place with an index of its own that is gone afterwards, lock and all."""
        scratch = tempfile.mkdtemp(prefix="index-", dir=self.path)
        try:
            yield Place(git_dir=self.path, work_tree=work_tree, index=Path(scratch) / "index")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _ref(self, name: str) -> str:
        if not name.startswith("refs/"):
            object_name(name)
        done = self.runner.call(
            self.place, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"
        )
        return done.output.decode().strip() if done.code == 0 else ""

    def _existing(self, access: CloneAccess, branches: Sequence[str]) -> list[str]:
        """Return refspecs of the named branches that the remote has, and drop our copies of the others."""
        there = self.remote_heads(access)
        refspecs = []
        for branch in branches:
            name = branch_ref(branch)
            tracking = f"refs/remotes/origin/{branch}"
            if branch in there:
                refspecs.append(f"+{name}:{tracking}")
            elif self._ref(tracking):
                self.runner.run(self.place, "update-ref", "--no-deref", "-d", tracking)
        return refspecs

    def _create(self) -> None:
        """Make the repository beside its place and move it there: a crash leaves no half of one."""
        self.path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="new-", dir=self.path.parent))
        beside = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(beside, fcntl.LOCK_EX)
            if (self.path / "HEAD").exists():
                return  # another of us was faster
            made.chmod(0o700)
            self.runner.run(Place(git_dir=made), "init", "--bare", "--quiet", "--template=", "--", str(made))
            (made / "info").mkdir(exist_ok=True)
            (made / "info" / "attributes").write_text(ATTRIBUTES)
            shutil.rmtree(self.path, ignore_errors=True)
            made.rename(self.path)
        finally:
            os.close(beside)
            shutil.rmtree(made, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the repository against other writers of ours; what a killed git left behind is stale then."""
        descriptor = os.open(self.path / "fixwright.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._await_lock(descriptor)
            for stale in chain.from_iterable(map(self.path.glob, _LEFT_BEHIND)):
                if stale.name != "fixwright.lock":
                    stale.unlink(missing_ok=True)
            yield
        finally:
            os.close(descriptor)

    def _await_lock(self, descriptor: int) -> None:
        """Take the lock as soon as it is free. Raises Stopped: another worker may fetch for minutes."""
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.runner.check_stop()
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                return


def _log_entry(line: str) -> LogEntry:
    sha, parents, author, committed, subject = line.split("\0", 4)
    return LogEntry(sha, tuple(parents.split()), author, datetime.fromisoformat(committed), subject)
