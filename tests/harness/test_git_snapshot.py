"""Snapshots: what of a worktree becomes a tree, and what is refused or left out."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from domain.errors import PolicyRefusal
from harness.change import ScanLimits
from tests.harness.git_world import World, person

BASE: dict[str, str | bytes | None] = {
    "app.py": "one\n",
    "pkg/mod.py": "two\n",
    "pkg/data/x.txt": "three\n",
    "logs/kept.log": "tracked though ignored\n",
    ".gitignore": "*.log\nbuild/\n",
}


class Desk:
    """A materialized worktree on BASE and its tree."""

    def __init__(self, world: World, base: str, root: Path) -> None:
        self.world = world
        self.base = base
        self.tree = root / "worktree"
        self.tree.mkdir()
        self.mirror = self.world.mirror
        self.mirror.materialize(self.base, self.tree)

    def snapshot(self, **limits: int) -> tuple[str, set[str], list[str]]:
        """Return (tree, changed paths, excluded paths)."""
        shot = self.mirror.snapshot(self.tree, self.base, ScanLimits(**limits))
        changed = {change.path for change in self.mirror.changes(self.base, shot.tree)}
        return shot.tree, changed, [item.path for item in shot.excluded]


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    """A world whose mirror has BASE, and BASE's tree. Who adds commits takes a world of their own."""
    world = World(tmp_path_factory.mktemp("world"))
    return world, world.fetched(BASE)[1]


@pytest.fixture
def desk(fetched: tuple[World, str], tmp_path: Path) -> Desk:
    return Desk(*fetched, tmp_path)


@pytest.fixture
def own_desk(tmp_path: Path) -> Desk:
    world = World(tmp_path)
    return Desk(world, world.fetched(BASE)[1], tmp_path)


def test_an_untouched_worktree_is_its_base(desk: Desk) -> None:
    assert desk.snapshot() == (desk.base, set(), [])


def test_new_changed_deleted_and_retyped_files_are_taken(desk: Desk) -> None:
    (desk.tree / "app.py").unlink()
    (desk.tree / "app.py").mkdir()
    (desk.tree / "app.py" / "inner").write_text("a file became a directory\n")
    for name in ("x.txt",):
        (desk.tree / "pkg/data" / name).unlink()
    (desk.tree / "pkg/data").rmdir()
    (desk.tree / "pkg/data").write_text("a directory became a file\n")
    (desk.tree / "pkg/mod.py").unlink()
    (desk.tree / "pkg/mod.py").symlink_to("data")
    for odd in (":(exclude)x", "-rf", "new\nline", "*", "ü", ' "quoted" '):
        (desk.tree / odd).write_text(odd)
    _, changed, excluded = desk.snapshot()
    assert changed == {
        "app.py", "app.py/inner", "pkg/data", "pkg/data/x.txt", "pkg/mod.py",
        ":(exclude)x", "-rf", "new\nline", "*", "ü", ' "quoted" ',
    }  # fmt: skip
    assert excluded == []


def test_ignored_new_files_stay_out_and_are_named_but_tracked_ones_are_taken(desk: Desk) -> None:
    (desk.tree / "logs/kept.log").write_text("changed\n")
    (desk.tree / "logs/new.log").write_text("ignored\n")
    (desk.tree / "build").mkdir()
    (desk.tree / "build/fix.py").write_text("the fix, in the wrong place\n")
    shot = desk.mirror.snapshot(desk.tree, desk.base)
    assert [change.path for change in desk.mirror.changes(desk.base, shot.tree)] == ["logs/kept.log"]
    assert shot.ignored == ("build/fix.py", "logs/new.log") and shot.ignored_count == 2


@pytest.mark.parametrize("name", [".gitignore", "pkg/.gitignore"])
def test_an_ignore_file_of_the_agent_hides_no_change_to_tracked_files(desk: Desk, name: str) -> None:
    (desk.tree / name).write_text("*\n/**\napp.py\n")
    (desk.tree / "pkg/mod.py").write_text("changed\n")
    (desk.tree / "app.py").unlink()
    _, changed, _ = desk.snapshot()
    assert {"pkg/mod.py", "app.py"} <= changed


@pytest.mark.parametrize("path", ["pipe", ".gitignore", "pkg/.gitattributes", "build/pipe", "app.py"])
@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_special_files_are_refused_by_name_and_at_once(
    desk: Desk, path: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = desk.tree / path
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(place)
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            monkeypatch.chdir(place.parent)  # the name of a socket is short
            listener.bind(place.name)
    with pytest.raises(PolicyRefusal, match=f"special file {path}") as caught:
        desk.snapshot()
    assert caught.value.findings[0].path == path


@pytest.mark.parametrize(
    "name",
    [".GIT", ".Git", "git~1", "GIT~2", ".g\u200cit", ".git\u200d", ".git ", ".git.", ".git. .",
     ".git::$INDEX_ALLOCATION", "．git", ".git\\x", "gi7eba~1"],
)  # fmt: skip
@pytest.mark.parametrize("parent", ["", "pkg/", "fresh/"])
def test_git_directories_in_disguise_are_refused(desk: Desk, name: str, parent: str) -> None:
    (desk.tree / parent / name).mkdir(parents=True)
    (desk.tree / parent / name / "config").write_text("[core]\n\tfsmonitor = touch /tmp/pwned\n")
    with pytest.raises(PolicyRefusal, match="in disguise"):
        desk.snapshot()


@pytest.mark.parametrize(
    "name", [".github", ".gitignore", ".gitkeep", "git", "x.git.txt", "git~", ".gitattributes~1"]
)
def test_names_that_only_look_like_git_are_fine(desk: Desk, name: str) -> None:
    (desk.tree / "fresh" / name).mkdir(parents=True)
    (desk.tree / "fresh" / name / "x").write_text("x")
    assert desk.snapshot()[1] == {f"fresh/{name}/x"}


def test_repositories_dropped_into_the_tree_are_left_out_and_the_fix_stays(desk: Desk) -> None:
    person("clone", "-q", str(desk.world.remote), "vendor/lib", at=desk.tree)
    person("init", "-q", "scratch", at=desk.tree)
    person("init", "-q", "--bare", "store.git", at=desk.tree)
    person("worktree", "add", "-q", "-b", "wt", str(desk.tree / ".wt"), at=desk.tree / "vendor/lib")
    (desk.tree / "linked").mkdir()
    (desk.tree / "linked/.git").symlink_to("../vendor/lib/.git")
    (desk.tree / "app.py").write_text("fixed\n")
    _, changed, excluded = desk.snapshot()
    assert changed == {"app.py"}
    assert sorted(excluded) == [".wt/", "linked/", "scratch/", "store.git/", "vendor/lib/"]


def test_a_repository_around_tracked_files_is_refused(desk: Desk) -> None:
    person("init", "-q", "pkg", at=desk.tree)
    with pytest.raises(PolicyRefusal, match=r"pkg/\.git"):
        desk.snapshot()


def test_a_worktree_that_is_itself_made_a_bare_repository_is_refused(desk: Desk) -> None:
    (desk.tree / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (desk.tree / name).mkdir()
    with pytest.raises(PolicyRefusal, match="bare repository"):
        desk.snapshot()


def test_rubbish_is_left_out_and_listed(desk: Desk) -> None:
    rubbish = [
        ".venv/bin/python", "node_modules/x/index.js", "pkg/__pycache__/mod.cpython-311.pyc", "app.py.orig",
        ".coverage", ".DS_Store", "pkg/.mypy_cache/x", "env/pyvenv.cfg", "env/lib/x.py", "odd/CACHEDIR.TAG",
        "odd/x", "my.egg-info/PKG-INFO", "app.py~", "x.rej",
    ]  # fmt: skip
    for name in rubbish:
        (desk.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (desk.tree / name).write_text("rubbish")
    (desk.tree / "env/python").symlink_to("/usr/bin/python3")
    (desk.tree / "core").write_bytes(b"\x7fELF\x02")
    (desk.tree / "core.1234").write_bytes(b"\x7fELF\x02")
    (desk.tree / "pkg/core").write_text("not a dump: a file of that name\n")
    (desk.tree / "repro_issue.py").write_text("print()\n")
    (desk.tree / "app.py").write_text("fixed\n")
    _, changed, excluded = desk.snapshot()
    assert changed == {"app.py", "repro_issue.py", "pkg/core"}
    assert sorted(excluded) == sorted(
        [".venv/", "node_modules/", "pkg/__pycache__/", "app.py.orig", ".coverage", ".DS_Store",
         "pkg/.mypy_cache/", "env/", "odd/", "my.egg-info/", "app.py~", "x.rej", "core", "core.1234"]
    )  # fmt: skip


def test_what_looks_like_rubbish_but_is_tracked_stays_tracked(own_desk: Desk) -> None:
    _, base = own_desk.world.fetched({"node_modules/a/x.js": "1\n", "f.orig": "1\n"})
    own_desk.base = base
    (own_desk.tree / "node_modules/a").mkdir(parents=True)
    (own_desk.tree / "node_modules/a/x.js").write_text("2\n")
    (own_desk.tree / "f.orig").write_text("2\n")
    _, changed, excluded = own_desk.snapshot()
    assert changed == {"node_modules/a/x.js", "f.orig"} and excluded == []


def test_counts_depth_and_sizes_are_bounded(desk: Desk) -> None:
    (desk.tree / "big.bin").write_bytes(b"x" * 2000)
    with (desk.tree / "sparse").open("wb") as file:
        file.truncate(120 * 2**20)
    tree, changed, excluded = desk.snapshot(new_file_bytes=1999)
    assert (tree, changed, excluded) == (desk.base, set(), ["big.bin", "sparse"])
    (desk.tree / "app.py").write_bytes(b"y" * 2000)
    assert "app.py" in desk.snapshot(new_file_bytes=1999)[2], (
        "a tracked file that grew too large keeps its base"
    )
    for number in range(6):
        (desk.tree / f"new{number}").touch()
    with pytest.raises(PolicyRefusal, match="more than 5 new files"):
        desk.snapshot(new_files=5)
    with pytest.raises(PolicyRefusal, match="more than 8 files and directories"):
        desk.snapshot(entries=8)
    with pytest.raises(PolicyRefusal, match="levels deep"):
        desk.snapshot(depth=1)


def test_a_large_file_of_the_base_may_stay_and_change(own_desk: Desk) -> None:
    _, base = own_desk.world.fetched({"large.json": "x" * 3000})
    own_desk.base = base
    (own_desk.tree / "large.json").write_text("y" * 3000)
    assert own_desk.snapshot(new_file_bytes=2000)[1:] == ({"large.json"}, [])


def test_ignored_files_do_not_count_as_new_ones(desk: Desk) -> None:
    (desk.tree / "build").mkdir()
    for number in range(50):
        (desk.tree / "build" / str(number)).touch()
    (desk.tree / "build/out").symlink_to("/somewhere/else")
    assert desk.snapshot(new_files=5)[0] == desk.base


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("leak", "/etc/passwd"),
        ("pkg/leak", "../../outside"),
        ("pkg/leak", "data/../../../x"),
        ("leak", "pkg/../.."),
        ("leak", ".git/config"),
        ("pkg/leak", "../.GIT/config"),
        ("app.py", "/etc/passwd"),
    ],
)
def test_new_symlinks_that_lead_out_are_refused(desk: Desk, path: str, target: str) -> None:
    (desk.tree / path).unlink(missing_ok=True)
    (desk.tree / path).symlink_to(target)
    with pytest.raises(PolicyRefusal, match=f"symlink {path}"):
        desk.snapshot()


def test_symlinks_inside_are_taken_and_old_ones_may_lead_anywhere(own_desk: Desk) -> None:
    (own_desk.world.desk / "old").symlink_to("/etc/hostname")
    _, own_desk.base = own_desk.world.fetched({})
    (own_desk.tree / "old").symlink_to("/etc/hostname")
    (own_desk.tree / "pkg/data/up").symlink_to("../../app.py")
    assert own_desk.snapshot()[1] == {"pkg/data/up"}
    (own_desk.tree / "old").unlink()
    (own_desk.tree / "old").symlink_to("/etc/shadow")
    with pytest.raises(PolicyRefusal, match="symlink old"):
        own_desk.snapshot()


def test_a_directory_replaced_by_a_link_to_outside_is_not_walked_into(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mod.py").write_text("secret of the host\n")
    (desk.tree / "pkg").rename(tmp_path / "moved")
    (desk.tree / "pkg").symlink_to(outside)
    with pytest.raises(PolicyRefusal, match="symlink pkg"):
        desk.snapshot()


def test_closed_directories_and_files_are_read_all_the_same(desk: Desk) -> None:
    (desk.tree / "pkg/mod.py").write_text("changed\n")
    (desk.tree / "pkg/mod.py").chmod(0)
    (desk.tree / "pkg").chmod(0)
    assert desk.snapshot()[1] == {"pkg/mod.py"}


def test_setuid_files_become_plain_executables(desk: Desk) -> None:
    (desk.tree / "app.py").chmod(0o6755)
    tree, changed, _ = desk.snapshot()
    assert changed == {"app.py"} and desk.mirror.list_files(tree)["app.py"].mode == "100755"


def test_a_file_name_of_any_bytes_goes_in_and_comes_out(desk: Desk, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xff")
    (desk.tree / name).write_text("x")
    tree, changed, _ = desk.snapshot()
    assert changed == {name}
    (tmp_path / "out").mkdir()
    desk.mirror.materialize(tree, tmp_path / "out")
    assert (tmp_path / "out" / name).read_text() == "x"


def test_an_index_lock_or_any_other_state_of_the_agents_repository_is_no_obstacle(desk: Desk) -> None:
    (desk.tree / ".git").mkdir()
    for name in ("index.lock", "HEAD.lock", "config.lock", "index", "HEAD", "MERGE_HEAD"):
        (desk.tree / ".git" / name).write_text("garbage")
    (desk.tree / "app.py").write_text("fixed\n")
    assert desk.snapshot()[1] == {"app.py"}
