"""The private place of a solve, beside repositories whose own settings start programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.solve.place import solve_place
from app.solve.source import IssueText
from domain.errors import GitError
from domain.model import Category
from harness.git.runner import Place

HOSTILE = """
[core]
    repositoryformatversion = 1
    alternateRefsCommand = touch {marker}-alternates;
    fsmonitor = touch {marker}-fsmonitor;
    sshCommand = touch {marker}-ssh;
    hooksPath = {hooks}
[extensions]
    partialClone = origin
[remote "origin"]
    url = {lender}
    uploadpack = touch {marker}-upload;
    promisor = true
[uploadpack]
    packObjectsHook = touch {marker}-pack;
[url "ext::touch {marker}-ext "]
    insteadOf = file://
"""


def _git(at: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(at), "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a repository that would start programs at every turn, and borrows from another."""
    lender, root, hooks = tmp_path / "lender", tmp_path / "theirs", tmp_path / "hooks"
    for path in (lender, root, hooks):
        path.mkdir()
    for name in ("reference-transaction", "post-merge", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-hook\n")
        (hooks / name).chmod(0o755)
    for path in (lender, root):
        _git(path, "init", "-q", "-b", "main")
        (path / "a.py").write_text("a = 1\n")
        _git(path, "add", ".")
        _git(path, "commit", "-q", "-m", "first")
    (root / ".git/objects/info/alternates").write_text(f"{lender}/.git/objects\n")
    with (root / ".git/config").open("a") as file:
        file.write(HOSTILE.format(marker=tmp_path / "ran", lender=lender, hooks=hooks))
    return root


def test_a_hostile_repositorys_settings_start_nothing(hostile: Path, tmp_path: Path) -> None:
    head = (hostile / ".git/refs/heads/main").read_text().strip()
    with solve_place(hostile, IssueText(title="t", body="b"), Category.BUG, plan_first=False) as place:
        runner = place.runner
        forge = next(each for each in (place.data / "forge").rglob("HEAD")).parent
        tree = runner.run(Place(git_dir=forge), "rev-parse", f"{head}^{{tree}}").decode().strip()
        made = runner.run(Place(git_dir=forge), "commit-tree", tree, "-p", head, stdin=b"the fix\n")
        commit = made.decode().strip()
        runner.run(Place(git_dir=forge), "update-ref", "refs/heads/made", commit)

        assert place.hand_over("made", "fix/1") == commit
        with pytest.raises(GitError):
            place.hand_over("made", "fix/1")

    assert (hostile / ".git/refs/heads/fix/1").read_text().strip() == commit
    assert not list(tmp_path.glob("ran*"))
    (hostile / ".git/config").write_text("[core]\n")
    assert _git(hostile, "log", "--format=%s", "fix/1") == "the fix\nfirst"
    _git(hostile, "fsck", "--strict")
