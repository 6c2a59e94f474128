"""Git works for the agent in the real sandbox, on a fresh branch and on a resumed one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from tests.harness.git_world import World, person, reachable_directory

BRANCH = "fixwright/issue-3"

SCRIPT = """
set -eu
git status --porcelain=v1 -b
git log --format=%s
git diff --stat
git blame -s a.py | cut -d' ' -f2-
echo four >> a.py
git diff | grep '^+four'
git stash -q; git status --porcelain; git stash pop -q
git stash list
git show --format=%s HEAD:a.py
git branch --list; git rev-parse --abbrev-ref HEAD
git add -A; git commit -q -m mine; git log -1 --format='%s by %an'
git switch -q -c side; git switch -q -
git reset -q --hard HEAD~1; git status --porcelain
! git push -q origin HEAD 2>/dev/null
! git fetch -q 2>/dev/null
"""


@pytest.fixture
def world(uid: int | None) -> Iterator[World]:
    with reachable_directory() as root:
        yield World(root, (uid, uid) if uid is not None else None)


def said(world: World, uid: int | None, commit: str, branch: str, tree: str) -> list[str]:
    place = world.places.open(1, 1)
    place.fill(world.mirror, commit, branch=branch, url="https://forge.invalid/o/r.git", tree=tree)
    sandbox = BubblewrapSandbox(uid=uid, nice=False)
    with closing(sandbox.open(SandboxPolicy(writable=place.tree, scratch=place.scratch))) as session:
        done = session.run(SCRIPT, 30)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize("is_resumed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_git_works_for_the_agent(world: World, uid: int | None, is_resumed: bool) -> None:
    world.commit({"a.py": "one\n"}, "first")
    base, tree = world.fetched({"a.py": "one\ntwo\n"})
    branch = "main"
    if is_resumed:
        branch = BRANCH
        person("checkout", "-q", "-b", BRANCH, at=world.desk)
        base, tree = world.fetched({"a.py": "one\ntwo\nthree\n"})

    lines = said(world, uid, base, branch, tree)

    assert lines[0] == f"## {branch}"
    assert lines[1:3] == (["change", "change"] if is_resumed else ["change", "first"])
    assert "+four" in lines and "mine by Agent" in lines and branch in lines
    assert any(line.endswith("one") for line in lines)
    assert os.fspath(world.mirror.path) not in "\n".join(lines)


@pytest.mark.long
def test_unfinished_work_in_the_tree_shows_as_such(world: World, uid: int | None) -> None:
    base, _ = world.fetched({"a.py": "one\n"})
    person("checkout", "-q", "-b", "later", at=world.desk)
    _, unfinished = world.fetched({"a.py": "one\ntwo\n", "new.py": "x\n"})
    lines = said(world, uid, base, "main", unfinished)
    assert lines[0] == "## main"
    assert lines[1:3] == [" M a.py", "?? new.py"]
    assert "+four" in lines
