"""What people do to the git side of an embedded forge: push, read, and delete branches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from domain.errors import NotFound
from domain.model import Actor
from providers.local import payloads, pulls, rows
from providers.local.bare import CommitFacts, files_below
from providers.local.ground import Ground
from providers.local.objects import Content, Signature


class Pushes:
    """Git as people use it; each push sends its webhooks."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def push(
        self,
        repository_id: str,
        branch: str,
        files: Mapping[str, Content | None] | Path,
        *,
        by: Actor,
        message: str = "Change files",
    ) -> str:
        """Put one commit on a branch and return its sha.

        `files` are the files to change, by path (None deletes), or a directory to copy in. A branch that is
        not there starts from the default branch, or with no history in an empty repository. The same act on
        the same state gives the same sha. Raises NotFound, ForgeError.
        """
        changes = files_below(files) if isinstance(files, Path) else files
        with self._ground.write() as tx:
            repository = rows.repository_row(tx, repository_id)
            git = tx.git(repository["full_name"])
            before, start = git.resolve(branch), git.resolve(repository["default_branch"])
            after = git.commit(branch, changes, Signature(author=by, message=message), start=start)
            shas = (before or pulls.NO_BRANCH, after)
            payloads.about_push(tx, repository["id"], branch, shas, by)
            pulls.after_push(tx, repository["id"], branch, by)
        return after

    def refuse_pushes(self, repository_id: str, words: str) -> None:
        """Refuse every push that comes by git from now on, with these words. Raises NotFound."""
        with self._ground.read() as tx:
            hooks = tx.git(rows.repository_row(tx, repository_id)["full_name"]).path / "hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / "pre-receive").write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}\nEND\nexit 1\n")
        (hooks / "pre-receive").chmod(0o755)

    def delete_branch(self, repository_id: str, branch: str, *, by: Actor) -> None:
        """Delete a branch; open pull requests from it are closed. Raises NotFound."""
        with self._ground.write() as tx:
            repository = rows.repository_row(tx, repository_id)
            git = tx.git(repository["full_name"])
            before = git.resolve(branch)
            if before is None:
                raise NotFound(f"there is no branch {branch!r} in {repository['full_name']}")
            git.delete_branch(branch)
            payloads.about_push(tx, repository["id"], branch, (before, pulls.NO_BRANCH), by)
            pulls.after_push(tx, repository["id"], branch, by)

    def branches(self, repository_id: str) -> dict[str, str]:
        """Return each branch's sha by its name. Raises NotFound."""
        with self._ground.read() as tx:
            return tx.git(rows.repository_row(tx, repository_id)["full_name"]).branches()

    def commits(self, repository_id: str, branch: str) -> list[CommitFacts]:
        """Return a branch's commits, newest first. Raises NotFound."""
        with self._ground.read() as tx:
            return tx.git(rows.repository_row(tx, repository_id)["full_name"]).log(branch)

    def files(self, repository_id: str, branch: str) -> dict[str, tuple[int, str]]:
        """Return mode and blob sha of a branch's files, by path. Raises NotFound."""
        with self._ground.read() as tx:
            git = tx.git(rows.repository_row(tx, repository_id)["full_name"])
            return git.tree(git.resolve(branch) or branch)

    def tree(self, repository_id: str, branch: str) -> str:
        """Return the name of the tree on a branch, or at a commit. Raises NotFound."""
        with self._ground.read() as tx:
            git = tx.git(rows.repository_row(tx, repository_id)["full_name"])
            return git.tree_name(git.resolve(branch) or branch)

    def read_file(self, repository_id: str, branch: str, path: str) -> bytes:
        """Return a file's bytes on a branch, or at a commit. Raises NotFound."""
        with self._ground.read() as tx:
            git = tx.git(rows.repository_row(tx, repository_id)["full_name"])
            return git.read_file(git.resolve(branch) or branch, path)
