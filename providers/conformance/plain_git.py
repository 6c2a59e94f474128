"""Plain git as the suite's client: what a repository's address and credential have to be good for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from domain.errors import BranchMoved, CredentialRefused, GitError, PushRefused
from domain.model import CloneAccess

_HELPER = '!f() { test "$1" = get && echo "username=$SUITE_USER" && echo "password=$SUITE_SECRET"; }; f'
_PERSON = {
    "GIT_AUTHOR_NAME": "Suite",
    "GIT_AUTHOR_EMAIL": "suite@localhost",
    "GIT_COMMITTER_NAME": "Suite",
    "GIT_COMMITTER_EMAIL": "suite@localhost",
}
_UNAUTHENTICATED = ("Authentication failed", "could not read Username", "could not read Password")


class GitClient(Protocol):
    """A store of git's own, and what it does with a remote. All may raise CredentialRefused and GitError."""

    def fetch(self, access: CloneAccess) -> None:
        """Bring every branch of the remote here."""

    def remote_heads(self, access: CloneAccess) -> Mapping[str, str]:
        """Return the remote's branches and their commits, asked now."""

    def read(self, branch: str, path: str) -> bytes:
        """Return a file of a branch as it was fetched."""

    def commit(self, branch: str, path: str, content: bytes) -> str:
        """Write a file on top of a branch as it was fetched; returns the new commit, which is nowhere yet."""

    def push(self, access: CloneAccess, sha: str, branch: str, expected: str) -> None:
        """Put a commit on a remote branch that is at `expected` ("": not there).

        Raises BranchMoved if it is elsewhere, PushRefused if the server said no; nothing is overwritten.
        """


class PlainGit:
    """The `git` of this machine, without anybody's configuration."""

    def __init__(self, path: Path) -> None:
        """Make a bare repository at `path`."""
        self._path = path
        path.mkdir(parents=True)
        self._run("init", "--quiet", "--bare", ".")

    def fetch(self, access: CloneAccess) -> None:
        """See `GitClient`."""
        self._run("fetch", "--quiet", "--prune", access.url, "+refs/heads/*:refs/heads/*", access=access)

    def remote_heads(self, access: CloneAccess) -> Mapping[str, str]:
        """See `GitClient`."""
        listing = os.fsdecode(self._run("ls-remote", "--heads", access.url, access=access))
        pairs = (line.split("\t", 1) for line in listing.splitlines())
        return {name.removeprefix("refs/heads/"): sha for sha, name in pairs}

    def read(self, branch: str, path: str) -> bytes:
        """See `GitClient`."""
        return self._run("cat-file", "blob", f"refs/heads/{branch}:{path}")

    def commit(self, branch: str, path: str, content: bytes) -> str:
        """See `GitClient`."""
        base = f"refs/heads/{branch}"
        blob = self._run("hash-object", "-w", "--stdin", given=content).decode().strip()
        self._run("read-tree", base)
        self._run("update-index", "-z", "--index-info", given=f"100644 {blob}\t{path}\0".encode())
        tree = self._run("write-tree").decode().strip()
        return self._run("commit-tree", tree, "-p", base, "-m", "Change a file").decode().strip()

    def push(self, access: CloneAccess, sha: str, branch: str, expected: str) -> None:
        """See `GitClient`."""
        lease = f"--force-with-lease=refs/heads/{branch}:{expected}"
        self._run("push", "--porcelain", lease, access.url, f"{sha}:refs/heads/{branch}", access=access)

    def _run(self, *arguments: str, given: bytes = b"", access: CloneAccess | None = None) -> bytes:
        done = subprocess.run(
            ["git", "-c", "credential.helper=", "-c", f"credential.helper={_HELPER}", *arguments],
            cwd=self._path,
            env=self._environment(access),
            input=given,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise _meant(os.fsdecode(done.stdout), os.fsdecode(done.stderr))
        return done.stdout

    def _environment(self, access: CloneAccess | None) -> dict[str, str]:
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._path),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "SUITE_USER": access.username if access else "",
            "SUITE_SECRET": access.secret if access else "",
            **_PERSON,
        }


def _meant(output: str, said: str) -> GitError:
    """Return what a failure means, by git's own words."""
    status = "\n".join(line for line in output.splitlines() if line.startswith("!"))
    remote = tuple(line.removeprefix("remote:").strip() for line in said.splitlines() if "remote:" in line)
    if "[remote rejected]" in status:
        return PushRefused(f"{status} {' / '.join(remote)}", remote)
    if "[rejected]" in status:
        return BranchMoved(status)
    kind = CredentialRefused if any(words in said for words in _UNAUTHENTICATED) else GitError
    return kind(said.strip() or status)
