"""Workspaces: layout, the decoy repository, verification checkouts, removal of hostile trees."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.errors import GitError
from domain.model import Repository
from harness.workspace import Workspaces, remove_tree
from tests.harness.git_world import ENVIRONMENT, World, person, reachable_directory

AGENT = (23456, 23456)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="dropping to another user needs root")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shared_world() -> Iterator[World]:
    with reachable_directory() as root:
        yield World(root, AGENT)


def repository(**fields: str) -> Repository:
    values = {"forge": "local", "id": "7", "full_name": "o/r", "default_branch": "main", "url": "x"} | fields
    return Repository(**values, private=False, archived=False)  # type: ignore[arg-type]  # all of them text


def test_a_mirror_is_found_by_forge_and_id_not_by_name(world: World) -> None:
    first = world.places.mirror_for(repository())
    assert world.places.mirror_for(repository(full_name="renamed/x")).path == first.path
    others = [
        repository(id="8"),
        repository(forge="local2"),
        repository(forge="../..", id="/etc"),
        repository(id=""),
    ]
    paths = {world.places.mirror_for(other).path for other in others}
    assert len(paths) == 4 and first.path not in paths
    assert {path.parent for path in paths} == {first.path.parent}


@pytest.mark.long
def test_git_works_for_the_agent_in_its_decoy(world: World) -> None:
    first = world.commit(
        {"a.py": "one\n", "win.txt": "a\r\nb\n", ".gitattributes": "* text=auto eol=crlf\n"}, "first"
    )
    second = world.commit({"a.py": "one\ntwo\n"}, "second")
    person("checkout", "-q", "-b", "secret-work", at=world.desk)
    later = world.commit({"a.py": "the fix of tomorrow\n"}, "later")
    world.mirror.fetch(world.access)
    place = world.workspace(second)
    tree = place.tree
    assert person("status", "--porcelain=v1", "-b", at=tree) == "## main"
    assert person("log", "--format=%s", at=tree) == "second\nfirst"
    (tree / "a.py").write_text("one\ntwo\nthree\n")
    assert "+three" in person("diff", at=tree)
    assert person("blame", "-s", "a.py", at=tree).startswith(f"^{first[:7]} 1) one")
    person("stash", at=tree)
    assert (tree / "a.py").read_text() == "one\ntwo\n"
    person("stash", "pop", "-q", at=tree)
    person("commit", "-q", "-a", "-m", "mine", at=tree)
    assert person("remote", "-v", at=tree).split()[1] == "https://forge.invalid/o/r.git"
    assert person("cat-file", "-t", later, at=tree, check=False) == "", "no commit after the base is in there"
    assert person("fsck", "--strict", "--no-dangling", at=tree) == ""
    assert sorted(world.remote_refs()) == ["refs/heads/main", "refs/heads/secret-work"]


@pytest.mark.long
def test_a_large_history_is_cut_off_and_still_works(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.workspace import decoy

    monkeypatch.setattr(decoy, "_WHOLE_HISTORY_BYTES", 0)
    monkeypatch.setattr(decoy, "_COMMITS_OTHERWISE", 2)
    shas = [world.commit({"a.py": f"{number}\n"}, str(number)) for number in range(5)]
    world.mirror.fetch(world.access)
    tree = world.workspace(shas[-1]).tree
    assert person("log", "--format=%s", at=tree) == "4\n3"
    assert person("status", "--porcelain", at=tree) == ""
    assert person("cat-file", "-t", shas[0], at=tree, check=False) == ""
    assert person("fsck", "--no-dangling", at=tree) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2-secret@host/o/r.git",
        'https://host/x"\n[core]\n\tfsmonitor = touch pwned',
        "file:///d/r",
    ],
)
def test_the_decoys_remote_has_no_credential_and_cannot_add_settings(world: World, url: str) -> None:
    commit, _ = world.fetched({"a": "1"})
    place = world.places.open(1, 1)
    place.fill(world.mirror, commit, branch="feat(x)-#1", url=url)
    config = (place.tree / ".git/config").read_text()
    assert "hunter2" not in config
    assert person("config", "--get", "core.fsmonitor", at=place.tree, check=False) == ""
    assert person("rev-parse", "--abbrev-ref", "HEAD", at=place.tree) == "feat(x)-#1"


def test_earlier_work_is_shown_as_a_difference_to_the_base(world: World) -> None:
    commit, base = world.fetched({"a": "1\n"})
    (world.desk / "a").write_text("earlier work\n")
    earlier = world.mirror.snapshot(world.desk, base).tree
    place = world.places.open(3, 2)
    place.fill(world.mirror, commit, branch="main", url="https://h/r", tree=earlier)
    assert "+earlier work" in person("diff", at=place.tree)
    assert world.mirror.snapshot(place.tree, base).tree == earlier


def test_opening_again_starts_clean_and_the_second_fill_uses_the_kept_pack(world: World) -> None:
    commit, _ = world.fetched({"a": "1"})
    place = world.workspace(commit)
    (place.tree / "left.txt").touch()
    (place.scratch / "left.txt").touch()
    packs = {path.name: path.stat().st_ino for path in (world.mirror.path / "decoy" / commit).iterdir()}
    again = world.workspace(commit)
    assert not (again.tree / "left.txt").exists() and list(again.scratch.iterdir()) == []
    assert {
        path.name: path.stat().st_ino for path in (world.mirror.path / "decoy" / commit).iterdir()
    } == packs


def test_fresh_is_a_checkout_of_its_own_each_time_without_a_repository(world: World) -> None:
    commit, tree = world.fetched({"a": "1", "sub/b": "2"})
    place = world.workspace(commit)
    one, two = place.fresh(tree), world.places.fresh(world.mirror, tree)
    assert one != two and sorted(path.name for path in one.iterdir()) == ["a", "sub"]
    assert stat.S_IMODE(one.stat().st_mode) == 0o700
    world.places.remove(one)
    assert not one.exists() and two.exists()
    with pytest.raises(ValueError, match="not below"):
        world.places.remove(world.mirror.path)
    with pytest.raises(ValueError, match="not below"):
        world.places.remove(one.parent / ".." / "mirrors" / world.mirror.path.name)
    with pytest.raises(GitError):
        world.places.open(9, 9).fresh(tree)


@pytest.mark.long
@needs_root
def test_the_sandboxes_user_owns_its_tree_and_can_list_nothing_else(shared_world: World) -> None:
    commit, tree = shared_world.fetched({"a.py": "1\n", "sub/b": "2\n"})
    (shared_world.desk / "link").symlink_to("a.py")
    commit, tree = shared_world.fetched({})
    place = shared_world.workspace(commit)
    fresh = place.fresh(tree)
    for path in (place.tree, place.scratch, fresh, *place.tree.rglob("*"), *fresh.rglob("*")):
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == AGENT, path
    root = shared_world.places.root
    script = f"""
        cd {place.tree} && echo fixed > a.py && git status --porcelain
        git stash -q && git stash pop -q && rm sub/b
        touch {place.scratch}/x {fresh}/x
        for hidden in {place.path} {place.path.parent} {root} {shared_world.mirror.path}; do
            ls $hidden && echo LISTED $hidden
        done
        cat {shared_world.mirror.path}/HEAD && echo READ
        touch {place.path}/x {place.path.parent}/x && echo WROTE
        true
    """
    done = subprocess.run(
        ["sh", "-c", script], env=dict(ENVIRONMENT), user=AGENT[0], group=AGENT[1], extra_groups=[],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "M a.py", (done.stdout, done.stderr)
    shot = shared_world.mirror.snapshot(place.tree, tree)
    assert sorted(change.path for change in shared_world.mirror.changes(tree, shot.tree)) == ["a.py", "sub/b"]
    place.remove()
    assert not place.path.exists()


def _deep(root: Path, levels: int) -> None:
    root.mkdir()
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.mkfifo("pipe", dir_fd=descriptor)
    os.close(descriptor)


@pytest.fixture
def fast_path() -> Iterator[Path]:
    """A directory in memory where there is one: some file systems take a millisecond per directory."""
    memory = Path("/dev/shm")
    usable = memory.is_dir() and os.access(memory, os.W_OK)
    path = Path(tempfile.mkdtemp(prefix="removal-", dir=memory if usable else None))
    yield path
    for left in (path / "outside", path):
        left.chmod(0o700)
    shutil.rmtree(path)


@pytest.mark.long
def test_removal_copes_with_depth_modes_and_links(fast_path: Path) -> None:
    tmp_path = fast_path
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    outside.chmod(0o500)
    tree = tmp_path / "place" / "tree"
    tree.parent.mkdir()
    _deep(tree, 6000)
    (tree / "link").symlink_to(outside)
    (tree / "dangling").symlink_to("/nowhere")
    (tree / "closed" / "inner").mkdir(parents=True)
    (tree / "closed" / "inner" / "file").write_text("x")
    (tree / "closed" / "inner" / "file").chmod(0)
    (tree / "closed" / "inner").chmod(0)
    (tree / "closed").chmod(0)
    tree.chmod(0)
    remove_tree(tree)
    remove_tree(tree)
    assert list(tree.parent.iterdir()) == []
    assert (outside / "precious").read_text() == "kept" and stat.S_IMODE(outside.stat().st_mode) == 0o500
    link = tmp_path / "link"
    link.symlink_to(outside)
    remove_tree(link)
    assert outside.exists() and not link.is_symlink()


@needs_root
def test_removal_works_as_the_owner_without_root(tmp_path: Path) -> None:
    with reachable_directory() as root:
        tree = root / "mine" / "tree"
        (tree / "closed").mkdir(parents=True)
        (tree / "closed" / "file").touch()
        for path in (tree / "closed" / "file", tree / "closed", tree, tree.parent):
            os.chown(path, *AGENT)
        (tree / "closed").chmod(0)
        tree.chmod(0o400)
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(AGENT[1])
            os.setuid(AGENT[0])
            try:
                remove_tree(tree)
                os._exit(0)
            except BaseException:  # noqa: BLE001 - the child must end here, whatever went wrong
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list((root / "mine").iterdir()) == []


def test_sweep_removes_what_earlier_lives_left_and_keeps_the_mirrors(world: World) -> None:
    commit, tree = world.fetched({"a": "1"})
    place = world.workspace(commit)
    place.fresh(tree)
    (place.tree / "closed").mkdir(mode=0)
    (world.places.root / "mirrors" / "new-half").mkdir()
    (world.mirror.path / "index-left").mkdir()
    again = Workspaces(world.places.root, None, world.git)
    assert again.sweep() == (f"fresh-{tree[:16]}-1", "task-1-1", "new-half", "index-left")
    assert list((world.places.root / "work").iterdir()) == []
    assert world.mirror.default_head("main") == commit
    assert again.sweep() == ()


def test_disk_use_is_accounted_for(world: World) -> None:
    commit, _ = world.fetched({"a": "1"})
    place = world.workspace(commit)
    before, entries = place.disk()
    (place.tree / "data").write_bytes(b"x" * 2**20)
    after, more = place.disk()
    assert after - before >= 2**20 and more == entries + 1
    whole = world.places.disk()
    assert whole.work >= after and whole.work_entries >= more and whole.mirrors > 0 and whole.free > 0
    assert place.free_inodes() > 0


def test_the_layout_lets_nobody_list(world: World) -> None:
    root = world.places.root
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root, root / "mirrors", root / "work")}
    assert modes == {"data": 0o711, "mirrors": 0o700, "work": 0o711}
