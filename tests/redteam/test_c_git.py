"""C: whatever the agent leaves behind, git runs none of it and pushes the very tree that was seen."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import GitError
from harness.workspace import remove_tree
from tests.harness.git_world import ENVIRONMENT, World, person
from tests.redteam.conftest import LaySiege
from tests.redteam.git_settings import CONFIGURED, HOSTILE, NUMBERS
from tests.redteam.siege import FIXED, IN_REVIEW, Siege
from tests.redteam.worktrees import EXTRA, OTHER_FILES, WORKTREES
from tests.worker.town import CALC

WHEN = datetime(2024, 5, 1, tzinfo=UTC)
FILES: dict[str, str | bytes | None] = {"a.py": "one $Id$\n", "b.py": "two\n", "win.txt": b"a\r\nb\n"}
FIX = "fixed $Id$\nsecond line\n"


class Scene:
    """A filled worktree after a hostile agent; `mark` appears if anything of the agent's is run."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.commit = world.mirror.default_head("main")
        self.base = world.mirror.tree_of(self.commit)
        self.tree = world.workspace(self.commit).tree
        self.mark = world.root / "mark"

    def attack(self, script: str) -> None:
        """Play the agent: its fix, its traps; then forget what its own git calls ran."""
        (self.tree / "a.py").write_text(FIX)
        command = f"{self.mark}.sh"
        Path(command).write_text(f"#!/bin/sh\nenv >> {self.mark}\n")
        Path(command).chmod(0o755)
        extra = {"MARK": command, "ELSEWHERE": str(self.world.root / "elsewhere")}
        subprocess.run(
            ["sh", "-c", script], cwd=self.tree, env={**ENVIRONMENT, **extra}, check=True, timeout=30
        )
        self.mark.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("hostile"))
    world.fetched(FILES)
    return world


@pytest.fixture
def scene(world: World) -> Iterator[Scene]:
    yield Scene(world)
    for left in ("elsewhere", "elsewhere.git"):
        remove_tree(world.root / left)
    for ref in set(world.remote_refs()) - {"refs/heads/main"}:
        person("update-ref", "-d", ref, at=world.remote)


EACH_SIXTH = [
    pytest.param(name, id=f"c{NUMBERS[name]} {name}", marks=[] if place % 6 == 0 else [pytest.mark.long])
    for place, name in enumerate(HOSTILE)
]
"""All of them take a while: five of six wait for the long suite."""


@pytest.mark.parametrize("name", EACH_SIXTH)
def test_c27_to_c84_nothing_runs_and_the_pushed_tree_is_the_one_seen(scene: Scene, name: str) -> None:
    scene.attack(HOSTILE[name])
    mirror, access = scene.world.mirror, scene.world.access
    seen = mirror.snapshot(scene.tree, scene.base).tree
    assert "a.py" in {change.path for change in mirror.changes(scene.base, seen)}
    assert "+fixed $Id$" in mirror.patch(scene.base, seen)
    added = {(line.path, line.line, line.text) for line in mirror.added_lines(scene.base, seen)}
    assert ("a.py", 2, "second line") in added
    fresh = scene.world.places.fresh(mirror, seen)
    assert (fresh / "a.py").read_text() == FIX and (fresh / "win.txt").read_bytes() == b"a\r\nb\n"
    commit = mirror.commit(seen, [scene.commit], "fix", when=WHEN)
    mirror.fetch(access)
    mirror.push(access, commit, "wip", "")
    assert scene.world.remote_refs() == {"refs/heads/main": scene.commit, "refs/heads/wip": commit}
    assert person("rev-parse", "wip^{tree}", at=scene.world.remote) == seen
    assert not scene.mark.exists(), scene.mark.read_text()
    victim = scene.world.root / "elsewhere" / "a.py"
    assert not victim.exists() or victim.read_text() == "victim\n"


def _plain_harness(tree: Path) -> Iterator[str]:
    """What a harness without these precautions would do in the agent's tree."""
    for call in (
        "status", "add -A", "diff HEAD", "commit -m x", "checkout -f -B wip", "diff HEAD~1 --textconv",
        "fetch origin", "push origin HEAD:wip",
    ):  # fmt: skip
        yield person(*call.split(), at=tree, check=False)


@pytest.mark.parametrize(
    "name",
    ["core.fsmonitor", "filter.clean", "filter.process", "diff.external", "diff.command", "gpg.program",
     "include.path", "includeIf", "core.attributesFile", "core.hooksPath", "hook pre-commit", "hook pre-push",
     "remote.uploadpack"],
)  # fmt: skip
def test_the_traps_are_real_a_plain_harness_falls_into_them(scene: Scene, name: str) -> None:
    person("remote", "set-url", "origin", scene.world.access.url, at=scene.tree)
    scene.attack(CONFIGURED[name])
    assert any(scene.mark.exists() for _ in _plain_harness(scene.tree))


# -- the whole way: agent, pre-scan, policy, verification, push ---------------------------------------

EACH = [pytest.param(name, id=f"c{number} {name}") for name, (number, _, _) in WORKTREES.items()]


@pytest.mark.parametrize("name", EACH)
def test_c27_to_c83_a_hostile_worktree_ends_as_it_must(lay_siege: LaySiege, name: str) -> None:
    _, expected, commands = WORKTREES[name]
    siege = lay_siege({**CALC, **OTHER_FILES})
    traps = all_settings(siege)
    stand = siege.attack(*FIXED, *(traps if command == "@SETTINGS@" else command for command in commands))
    assert stand == expected, siege.text(siege.reference)
    assert len(siege.pulls) == (expected == IN_REVIEW)
    siege.assert_contained(allowed=EXTRA.get(name, ()))


def all_settings(siege: Siege) -> str:
    """Return a script that sets every trap that the configuration of a repository has room for."""
    command = f"{siege.marker}.sh"
    scripts = "\n".join(f"( {script}\n)" for name, script in CONFIGURED.items() if "gitmodules" not in script
                        and ".gitattributes" not in script and "tracked-hooks" not in script)  # fmt: skip
    Path(command).write_text(f"#!/bin/sh\nenv >> {siege.marker}\n")
    Path(command).chmod(0o755)
    return f"export MARK={command} ELSEWHERE=/tmp/elsewhere\n{scripts}\n:"


@pytest.mark.parametrize("name", [".GIT", ".git", "git~1", ".g\u200cit"])
def test_c76_a_repository_whose_own_tree_hides_a_git_directory_is_refused(world: World, name: str) -> None:
    blob = person("hash-object", "-w", "--stdin", at=world.remote)
    tree = _tree(world, f"100644 blob {blob}\tconfig\0")
    outer = _tree(world, f"040000 tree {tree}\t{name}\0")
    commit = person("commit-tree", outer, "-m", "hidden", at=world.remote)
    person("update-ref", "refs/heads/hidden", commit, at=world.remote)
    try:
        with pytest.raises(GitError):
            world.mirror.fetch(world.access)
            world.places.fresh(world.mirror, world.mirror.tree_of(commit))
    finally:
        person("update-ref", "-d", "refs/heads/hidden", at=world.remote)


def _tree(world: World, entries: str) -> str:
    """Write a tree with whatever names, as no honest git would."""
    command = ["git", "--git-dir", str(world.remote), "mktree", "-z", "--missing"]
    done = subprocess.run(command, input=entries.encode(), env=ENVIRONMENT, capture_output=True, check=True)
    return done.stdout.decode().strip()
