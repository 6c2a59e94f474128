"""The git side of the embedded forge, checked against git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from domain.errors import ForgeError, NotFound
from domain.model import Actor, Repository
from providers.local.bare import BareRepository, files_below
from providers.local.forge import LocalForge
from providers.local.objects import EXECUTABLE, FILE, SYMLINK
from providers.local.people import LocalWorld


def git(*arguments: str, at: Path, check: bool = True) -> str:
    """Run git with nothing of this machine's settings."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=at,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(at),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Rosa",
            "GIT_AUTHOR_EMAIL": "rosa@local.invalid",
            "GIT_COMMITTER_NAME": "Rosa",
            "GIT_COMMITTER_EMAIL": "rosa@local.invalid",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip() if check else done.stderr


def clone(world: LocalWorld, repository: Repository, into: Path) -> Path:
    git("clone", "--quiet", LocalForge(world.root).clone_access(repository.id).url, str(into), at=into.parent)
    return into


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A directory with all kinds of files that git knows, and one that it must not take."""
    root = tmp_path / "sample"
    (root / "pkg" / "deep").mkdir(parents=True)
    (root / "pkg" / "deep" / "ünï code.py").write_text("x = 'é'\n", encoding="utf-8")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "raw.bin").write_bytes(bytes(range(256)))
    (root / "link").symlink_to("pkg/deep")
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "hooks" / "post-checkout").write_text("evil")
    return root


def test_a_seeded_repository_is_sound_and_can_be_cloned(
    world: LocalWorld, sample: Path, tmp_path: Path
) -> None:
    repository = world.create_repository("octo/sample", files=sample)
    bare = world.root / "repos" / "octo" / "sample.git"
    assert git("fsck", "--strict", "--full", at=bare) == ""
    tree = clone(world, repository, tmp_path / "clone")
    assert (tree / "pkg" / "deep" / "ünï code.py").read_text(encoding="utf-8") == "x = 'é'\n"
    assert (tree / "run.sh").stat().st_mode & 0o111
    assert (tree / "raw.bin").read_bytes() == bytes(range(256))
    assert (tree / "link").is_symlink() and not (tree / ".git" / "hooks" / "post-checkout").exists()
    assert git("branch", "--show-current", at=tree) == "main"


def test_modes_are_kept(world: LocalWorld, sample: Path) -> None:
    repository = world.create_repository("octo/sample", files=sample)
    modes = {path: mode for path, (mode, _sha) in world.git.files(repository.id, "main").items()}
    assert modes == {"pkg/deep/ünï code.py": FILE, "run.sh": EXECUTABLE, "raw.bin": FILE, "link": SYMLINK}


def test_the_same_files_give_the_same_commit(world: LocalWorld, sample: Path) -> None:
    first = world.create_repository("octo/one", files=sample)
    second = world.create_repository("octo/two", files=files_below(sample))
    assert world.git.branches(first.id) == world.git.branches(second.id)


@pytest.mark.parametrize("branch", ["trunk", "release/2.x", "ünï", "feat(core)-x", "release/#12"])
def test_a_clone_checks_out_the_default_branch(world: LocalWorld, tmp_path: Path, branch: str) -> None:
    repository = world.create_repository("octo/widgets", default_branch=branch, files={"a": b"1"})
    tree = clone(world, repository, tmp_path / "clone")
    assert git("branch", "--show-current", at=tree) == branch and (tree / "a").read_bytes() == b"1"


def test_an_empty_repository_can_be_cloned_and_filled(world: LocalWorld, tmp_path: Path) -> None:
    repository = world.create_repository("octo/empty", default_branch="trunk")
    assert world.git.branches(repository.id) == {}
    tree = clone(world, repository, tmp_path / "clone")
    (tree / "a").write_text("1")
    git("add", "a", at=tree)
    git("commit", "--quiet", "-m", "one", at=tree)
    git("push", "--quiet", "origin", "HEAD:trunk", at=tree)
    assert world.git.read_file(repository.id, "trunk", "a") == b"1"


def test_a_push_by_git_is_seen_and_a_lease_is_kept(
    world: LocalWorld, repository: Repository, rosa: Actor, tmp_path: Path
) -> None:
    tree = clone(world, repository, tmp_path / "clone")
    git("commit", "--quiet", "--allow-empty", "-m", "one", at=tree)
    git("push", "--quiet", "--force-with-lease=refs/heads/fix:", "origin", "HEAD:refs/heads/fix", at=tree)
    first = git("rev-parse", "HEAD", at=tree)
    assert world.git.branches(repository.id)["fix"] == first
    git("commit", "--quiet", "--amend", "--allow-empty", "-m", "two", at=tree)
    second = git("rev-parse", "HEAD", at=tree)
    lease = f"--force-with-lease=refs/heads/fix:{first}"
    git("push", "--quiet", lease, "origin", "HEAD:refs/heads/fix", at=tree)
    assert world.git.branches(repository.id)["fix"] == second
    theirs = world.git.push(repository.id, "fix", {"human.txt": b"mine"}, by=rosa)
    refused = git("push", lease, "origin", "HEAD:refs/heads/fix", at=tree, check=False)
    assert "stale info" in refused and world.git.branches(repository.id)["fix"] == theirs


def test_a_pull_request_follows_a_push_by_git_until_it_is_merged(
    world: LocalWorld, repository: Repository, rosa: Actor, tmp_path: Path
) -> None:
    world.git.push(repository.id, "fix", {"fix.txt": b"1\n"}, by=rosa)
    number = world.open_pull(repository.id, rosa, head="fix", base="main", title="Fix").number
    tree = clone(world, repository, tmp_path / "clone")
    git("switch", "--quiet", "fix", at=tree)
    (tree / "fix.txt").write_text("2\n")
    git("commit", "--quiet", "--all", "-m", "better", at=tree)
    git("push", "--quiet", "origin", "fix", at=tree)
    moved = git("rev-parse", "HEAD", at=tree)
    assert world.pulls(repository.id)[0].head_sha == moved
    assert world.merge_pull(repository.id, number, rosa) == moved
    git("commit", "--quiet", "--allow-empty", "-m", "too late", at=tree)
    git("push", "--quiet", "origin", "fix", at=tree)
    assert world.pulls(repository.id)[0].head_sha == moved
    assert "+2" in world.pull_diff(repository.id, number)


def test_packed_references_are_read(world: LocalWorld, repository: Repository) -> None:
    before = world.git.branches(repository.id)
    bare = world.root / "repos" / "octo" / "widgets.git"
    git("pack-refs", "--all", at=bare)
    git("gc", "--quiet", at=bare)
    assert world.git.branches(repository.id) == before
    assert world.git.read_file(repository.id, "main", "README.md") == b"# Widgets\n"


def test_a_push_changes_adds_and_deletes(world: LocalWorld, repository: Repository, rosa: Actor) -> None:
    changes = {"README.md": b"new\n", "lib/a.py": None, "tool": (b"#!/bin/sh\n", EXECUTABLE)}
    sha = world.git.push(repository.id, "main", changes, by=rosa, message="Three things")
    assert set(world.git.files(repository.id, sha)) == {"README.md", "tool"}
    newest, first = world.git.commits(repository.id, "main")
    assert newest.sha == sha and newest.parents == (first.sha,) and first.parents == ()
    assert newest.message == "Three things\n" and newest.author.startswith("rosa <")


def test_a_diff_can_be_applied(
    world: LocalWorld, repository: Repository, rosa: Actor, tmp_path: Path
) -> None:
    tree = clone(world, repository, tmp_path / "clone")
    changes = {"lib/a.py": b"a = 2\n", "new/ok.txt": b"fresh\n", "README.md": None}
    world.git.push(repository.id, "fix", changes, by=rosa)
    pull = world.open_pull(repository.id, rosa, head="fix", base="main", title="Change")
    diff = tmp_path / "change.diff"
    diff.write_text(world.pull_diff(repository.id, pull.number), encoding="utf-8")
    git("apply", str(diff), at=tree)
    assert (tree / "lib" / "a.py").read_bytes() == b"a = 2\n"
    assert (tree / "new" / "ok.txt").read_bytes() == b"fresh\n" and not (tree / "README.md").exists()


def test_a_diff_shows_only_what_the_branch_did(
    world: LocalWorld, repository: Repository, rosa: Actor
) -> None:
    world.git.push(repository.id, "fix", {"fix.txt": b"fix\n"}, by=rosa)
    pull = world.open_pull(repository.id, rosa, head="fix", base="main", title="Change")
    before = world.pull_diff(repository.id, pull.number)
    world.git.push(repository.id, "main", {"other.txt": b"elsewhere\n"}, by=rosa)
    assert world.pull_diff(repository.id, pull.number) == before
    assert "+fix" in before and "other" not in before


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a//b", "a/./b", ".git/config", "a/.GIT/x", ""])
def test_a_path_that_leaves_the_tree_is_refused(
    world: LocalWorld, repository: Repository, rosa: Actor, path: str
) -> None:
    before = world.git.branches(repository.id)
    with pytest.raises(ForgeError):
        world.git.push(repository.id, "main", {path: b"x"}, by=rosa)
    assert world.git.branches(repository.id) == before


def test_a_file_below_a_file_is_refused(world: LocalWorld, repository: Repository, rosa: Actor) -> None:
    with pytest.raises(ForgeError, match="lies below a file"):
        world.git.push(repository.id, "main", {"README.md/x": b"x"}, by=rosa)


@pytest.mark.parametrize("branch", ["-rf", "a..b", "a.lock", "@{u}", "a b", "", "a~1", "--upload-pack=x"])
def test_a_branch_name_that_git_does_not_take_is_refused(world: LocalWorld, branch: str) -> None:
    with pytest.raises(ForgeError):
        world.create_repository("octo/odd", default_branch=branch)
    assert world.create_repository("octo/odd").default_branch == "main", "nothing was left behind"


def test_a_branch_in_the_way_of_another_is_said(
    world: LocalWorld, repository: Repository, rosa: Actor
) -> None:
    world.git.push(repository.id, "fixwright", {"x": b"x"}, by=rosa)
    with pytest.raises(ForgeError):
        world.git.push(repository.id, "fixwright/issue-1", {"x": b"x"}, by=rosa)


def test_what_is_not_there_is_not_found(world: LocalWorld, repository: Repository) -> None:
    for branch in ("nope", "0" * 40, "x" * 40):
        with pytest.raises(NotFound):
            world.git.read_file(repository.id, branch, "README.md")
    with pytest.raises(NotFound):
        world.git.read_file(repository.id, "main", "lib")
    with pytest.raises(NotFound):
        world.git.commits(repository.id, "nope")
    with pytest.raises(NotFound):
        BareRepository(world.root / "nowhere").branches()
