"""The mirror: fetch, refs, history, trees, files, overlays, patches, on real repositories."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import GitError
from domain.model import CloneAccess
from harness.git import Mirror, Person
from tests.harness.git_world import World, person

WHEN = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_fetch_brings_all_heads_and_prunes_gone_ones(world: World) -> None:
    first, _ = world.fetched({"a.txt": "one\n"})
    person("push", "-q", "origin", "HEAD:refs/heads/fix", at=world.desk)
    world.mirror.fetch(world.access)
    assert world.mirror.default_head("fix") == first
    person("push", "-q", "origin", ":refs/heads/fix", at=world.desk)
    person("push", "-q", "origin", "HEAD:refs/heads/fix/12", at=world.desk)
    world.mirror.fetch(world.access)
    assert world.mirror.default_head("fix") == ""
    assert world.mirror.default_head("fix/12") == first
    assert stat.S_IMODE(world.mirror.path.stat().st_mode) == 0o700


def test_an_empty_repository_is_a_clear_state_and_not_an_error(world: World) -> None:
    world.mirror.fetch(world.access)
    assert world.mirror.default_head("main") == ""
    assert world.mirror.remote_head(world.access, "main") == ""


@pytest.mark.long
def test_fetch_of_named_branches_takes_only_these_and_drops_missing_ones(world: World) -> None:
    first, _ = world.fetched({"a.txt": "one\n"})
    person("push", "-q", "origin", "HEAD:refs/heads/other", at=world.desk)
    second = world.commit({"a.txt": "two\n"})
    world.mirror.fetch(world.access, ["main", "not-there"])
    assert (world.mirror.default_head("main"), world.mirror.default_head("other")) == (second, "")
    person("push", "-q", "-f", "origin", f"{first}:refs/heads/main", at=world.desk)
    world.mirror.fetch(world.access, ["main"])
    assert world.mirror.default_head("main") == first
    person("push", "-q", "origin", ":refs/heads/main", at=world.desk, check=False)
    person("update-ref", "-d", "refs/heads/main", at=world.remote)
    world.mirror.fetch(world.access, ["main"])
    assert world.mirror.default_head("main") == ""


@pytest.mark.long
@pytest.mark.parametrize("branch", ["release/#12", "feat(core)-x", "a+b", "ünï", "@home", "a,b", "x" * 200])
def test_every_branch_name_that_git_takes_works(world: World, branch: str) -> None:
    sha, tree = world.fetched({"a.txt": "one\n"})
    person("push", "-q", "origin", f"HEAD:refs/heads/{branch}", at=world.desk)
    world.mirror.fetch(world.access, [branch])
    assert world.mirror.default_head(branch) == sha == world.mirror.remote_head(world.access, branch)
    commit = world.mirror.commit(tree, [sha], "next", when=WHEN)
    world.mirror.push(world.access, commit, branch, sha)
    assert world.mirror.remote_head(world.access, branch) == commit


@pytest.mark.parametrize(
    "branch",
    [
        "--upload-pack=touch${IFS}pwn",
        "-x",
        "",
        "a..b",
        "a.lock",
        "a b",
        "@{u}",
        "a:b",
        "a\nb",
        "@",
        "a/",
        "*",
    ],
)
def test_names_that_git_refuses_or_takes_for_options_are_errors(world: World, branch: str) -> None:
    sha, _ = world.fetched({"a.txt": "one\n"})
    for call in (
        lambda: world.mirror.default_head(branch),
        lambda: world.mirror.fetch(world.access, [branch]),
        lambda: world.mirror.remote_head(world.access, branch),
        lambda: world.mirror.push(world.access, sha, branch, ""),
    ):
        with pytest.raises(GitError):
            call()


@pytest.mark.parametrize(
    ("url", "protocol"),
    [
        ("ext::sh -c touch% pwn", "ext"),
        ("ssh://host/x", "ssh"),
        ("/tmp/x", "file"),
        ("--upload-pack=x", "file"),
        ("https://user:secret-word@host/x", "https"),
        ("https://host/a\nb", "https"),
        ("http://host/x", "http"),
    ],
)
def test_remotes_outside_the_allowed_protocols_are_refused(world: World, url: str, protocol: str) -> None:
    with pytest.raises(GitError) as caught:
        world.mirror.fetch(CloneAccess(url=url, protocol=protocol))
    assert "secret-word" not in str(caught.value)


def test_refs_of_our_own_live_apart_from_the_remotes(world: World) -> None:
    sha, _ = world.fetched({"a.txt": "one\n"})
    assert world.mirror.ref("task-1/wip") == ""
    world.mirror.set_ref("task-1/wip", sha)
    world.mirror.fetch(world.access)
    assert world.mirror.ref("task-1/wip") == sha == world.mirror.resolve("refs/fixwright/task-1/wip")
    world.mirror.delete_ref("task-1/wip")
    world.mirror.delete_ref("task-1/wip")
    assert world.mirror.ref("task-1/wip") == ""
    with pytest.raises(GitError):
        world.mirror.resolve("refs/fixwright/task-1/wip")
    with pytest.raises(GitError):
        world.mirror.set_ref("../heads/main", sha)


@pytest.mark.long
def test_history_questions(world: World) -> None:
    first, tree = world.fetched({"a.txt": "one\n"})
    second, _ = world.fetched({"a.txt": "two\n"})
    side = world.mirror.commit(tree, [first], "side: 50%\n\nbody", author=Person("A <x>\n", ""), when=WHEN)
    mirror = world.mirror
    assert mirror.is_ancestor(first, second) and not mirror.is_ancestor(second, side)
    assert mirror.merge_base(second, side) == first
    (entry,) = mirror.log(second, side)
    assert (entry.sha, entry.parents, entry.subject) == (side, (first,), "side: 50%")
    assert entry.author == "A x <unknown@invalid>" and entry.committed_at == WHEN
    assert [found.sha for found in mirror.log("", second)] == [second, first]
    orphan = mirror.commit(tree, [], "x", when=WHEN)
    assert mirror.merge_base(orphan, second) == ""
    with pytest.raises(GitError):
        mirror.is_ancestor("0" * 40, second)


@pytest.mark.long
def test_a_merge_needs_no_worktree_and_names_every_conflict(world: World) -> None:
    first, _ = world.fetched({"a.txt": "one\n", "\u00e4 b.txt": "one\n"})
    mirror, run = world.mirror, world.mirror.runner.run
    second, tree = world.fetched({"a.txt": "two\n", "new.txt": "new\n"})
    third, other = world.fetched({"\u00e4 b.txt": "three\n"})
    aside = mirror.commit(
        mirror.overlay(mirror.tree_of(first), other, ["\u00e4 b.txt"]), [first], "x", when=WHEN
    )
    clash = mirror.commit(mirror.overlay(tree, other, ["\u00e4 b.txt"]), [first], "x", when=WHEN)
    clean = mirror.merge(second, aside)
    assert clean.conflicts == () and clean.tree == mirror.tree_of(third)

    person("commit", "--allow-empty", "-qm", "x", at=world.desk)
    fourth, _ = world.fetched({"\u00e4 b.txt": "four\n", "a.txt": "four\n"})
    assert mirror.merge(fourth, clash).conflicts == ("a.txt", "\u00e4 b.txt")
    with pytest.raises(GitError, match="unrelated histories"):
        mirror.merge(fourth, mirror.commit(tree, [], "x", when=WHEN))
    assert not run(mirror.place, "for-each-ref", "refs/fixwright").strip()


def test_a_commit_message_is_kept_word_for_word_and_the_same_call_gives_the_same_commit(world: World) -> None:
    sha, tree = world.fetched({"a.txt": "one\n"})
    message = "-fix `touch /tmp/pwn` $(id)\n\n# not a comment\n\n\n#\nCo-authored-by: x\n" + "y" * 100_000
    commit = world.mirror.commit(tree, [sha], message, when=WHEN)
    raw = person("cat-file", "commit", commit, at=world.mirror.path)
    assert raw.split("\n\n", 1)[1] == message
    assert "committer Fixwright <fixwright@localhost> 1714564800 +0000" in raw
    assert world.mirror.commit(tree, [sha], message, when=WHEN) == commit
    assert world.mirror.commit(tree, [sha], "lone \ud800 and \0 nul", when=WHEN) != commit


@pytest.mark.long
def test_read_file_and_list_files(world: World) -> None:
    (world.desk / "link").symlink_to("/etc/passwd")
    odd = 'sub/ü "quoted"\n*.txt'
    sha, tree = world.fetched({"a.txt": "one\n", odd: "odd\n", "run.sh": "#!/bin/sh\n", "big": "x" * 5000})
    mirror = world.mirror
    assert mirror.read_file(sha, "a.txt") == b"one\n" == mirror.read_file(tree, "a.txt")
    assert mirror.read_file(tree, odd) == b"odd\n"
    assert mirror.read_file(tree, "link") is None
    assert mirror.read_file(tree, "sub") is None
    assert mirror.read_file(tree, "*.txt") is None
    with pytest.raises(GitError, match="5000 bytes"):
        mirror.read_file(tree, "big", limit=4999)
    for path in ("/etc/passwd", "../x", "", "sub//x", "./a.txt"):
        with pytest.raises(GitError):
            mirror.read_file(tree, path)
    files = mirror.list_files(tree)
    assert sorted(files) == sorted(["a.txt", odd, "run.sh", "big", "link"])
    assert files["link"].mode == "120000" and files["big"].size == 5000


def test_materialize_writes_bytes_as_they_are_whatever_attributes_say(world: World, tmp_path: Path) -> None:
    attributes = (
        "* text=auto eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n"
        "*.bin filter=lfs diff=lfs -text\n"
        "[attr]text filter=lfs\n*.txt crlf=input\n"
    )
    files = {
        ".gitattributes": attributes,
        "sub/.gitattributes": "* text eol=crlf ident filter=evil\n",
        "lines.txt": "a\nb\n",
        "sub/lines.txt": "a\nb $Id$\n",
        "mixed": b"a\r\nb\n",
        "x.id": "$Id$\n",
        "x.u16": "text\n",
        "x.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
    }
    _, base = world.fetched({"x.bin": files["x.bin"]})
    built = world.mirror.snapshot(_written(tmp_path / "made", files), base).tree
    out = tmp_path / "out"
    out.mkdir()
    world.mirror.materialize(built, out)
    for name, content in files.items():
        assert (out / name).read_bytes() == (content.encode() if isinstance(content, str) else content), name
    assert world.mirror.snapshot(out, built).tree == built


def _written(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.mark.long
def test_materialize_keeps_links_and_modes_and_leaves_submodules_empty(world: World, tmp_path: Path) -> None:
    (world.desk / "link").symlink_to("a.txt")
    (world.desk / "run.sh").write_text("#!/bin/sh\n")
    (world.desk / "run.sh").chmod(0o755)
    world.commit({"a.txt": "one\n"})
    sha = person("rev-parse", "HEAD", at=world.desk)
    person("update-index", "--add", "--cacheinfo", f"160000,{sha},vendor/lib", at=world.desk)
    person("commit", "-q", "-m", "submodule", at=world.desk)
    person("push", "-q", "origin", "HEAD:main", at=world.desk)
    world.mirror.fetch(world.access)
    tree = world.mirror.tree_of(world.mirror.default_head("main"))
    out = tmp_path / "out"
    out.mkdir()
    world.mirror.materialize(tree, out)
    assert (out / "link").readlink() == Path("a.txt")
    assert (out / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "a.txt").stat().st_mode & 0o777 == 0o644
    assert list((out / "vendor" / "lib").iterdir()) == []
    assert world.mirror.snapshot(out, tree).tree == tree
    (out / "vendor" / "lib" / "x").write_text("hidden")
    shot = world.mirror.snapshot(out, tree)
    assert shot.tree == tree and [item.path for item in shot.excluded] == ["vendor/lib/"]
    with pytest.raises(GitError, match="empty directory"):
        world.mirror.materialize(tree, out)


@pytest.mark.long
def test_overlay_takes_paths_from_another_tree_with_deletions_and_type_changes(
    world: World, tmp_path: Path
) -> None:
    _, base = world.fetched({"a": "1", "dir/x": "1", "dir/y": "1", "swap": "file", "keep": "1"})
    other_files = {"a": "2", "dir/x": "2", "dir/z": "2", "swap/inner": "now a directory", "keep": "2"}
    other = world.mirror.snapshot(_written(tmp_path / "other", other_files), base).tree
    tree = world.mirror.overlay(base, other, ["dir", "swap", "a", "absent"])
    out = tmp_path / "out"
    out.mkdir()
    world.mirror.materialize(tree, out)
    found = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert found == {"a": "2", "dir/x": "2", "dir/z": "2", "swap/inner": "now a directory", "keep": "1"}
    assert world.mirror.overlay(base, other, []) == base
    assert world.mirror.overlay(tree, base, ["dir", "swap", "a"]) == base


def test_changes_tell_status_modes_sizes_links_and_filters(world: World, tmp_path: Path) -> None:
    _, base = world.fetched(
        {
            ".gitattributes": "*.png filter=lfs\n",
            "m": "1\n",
            "gone": "x\n",
            "t": "file\n",
            "p.png": "pointer",
            "e": "1",
        }
    )
    out = tmp_path / "out"
    out.mkdir()
    world.mirror.materialize(base, out)
    (out / "m").write_text("1\n2\n3\n")
    (out / "gone").rename(out / "came\tnew")
    (out / "t").unlink()
    (out / "t").symlink_to("m")
    (out / "p.png").write_bytes(b"\x89PNG\0raw")
    (out / "e").chmod(0o755)
    tree = world.mirror.snapshot(out, base).tree
    changes = {change.path: change for change in world.mirror.changes(base, tree)}
    assert {path: change.status for path, change in changes.items()} == {
        "m": "M", "gone": "D", "came\tnew": "A", "t": "T", "p.png": "M", "e": "M",
    }  # fmt: skip
    assert (changes["m"].size, changes["m"].lines_added, changes["m"].lines_removed) == (6, 2, 0)
    assert changes["t"].target == "m" and changes["t"].new_mode == "120000"
    assert changes["p.png"].binary and changes["p.png"].filter == "lfs" and changes["m"].filter == ""
    assert (changes["e"].old_mode, changes["e"].new_mode) == ("100644", "100755")
    assert changes["gone"].new_mode == "000000" and changes["gone"].size == 0
    assert world.mirror.changes(tree, tree) == ()


def test_patch_is_readable_and_bounded_and_added_lines_miss_nothing(world: World, tmp_path: Path) -> None:
    _, base = world.fetched({"a.txt": "one\ntwo\nthree\n", "b": "x\n"})
    out = tmp_path / "out"
    out.mkdir()
    world.mirror.materialize(base, out)
    (out / "a.txt").write_text("one\n++ b/b\n+++ b/fake\n@@ -1 +1 @@\nthree\n")
    (out / 'ü\t"x"').write_bytes(b"no newline")
    (out / "raw").write_bytes(b"\0\0binary\nsecond\n")
    (out / "sp ace").write_text("s\n")
    tree = world.mirror.snapshot(out, base).tree
    patch = world.mirror.patch(base, tree)
    assert "-two\n+++ b/b\n++++ b/fake\n+@@ -1 +1 @@\n" in patch and "Binary files" in patch
    assert len(world.mirror.patch(base, tree, limit=100)) < 200
    lines = {(line.path, line.line, line.text) for line in world.mirror.added_lines(base, tree)}
    assert lines == {
        ("a.txt", 2, "++ b/b"),
        ("a.txt", 3, "+++ b/fake"),
        ("a.txt", 4, "@@ -1 +1 @@"),
        ('ü\t"x"', 1, "no newline"),
        ("raw", 1, "\0\0binary"),
        ("raw", 2, "second"),
        ("sp ace", 1, "s"),
    }


@pytest.mark.long
def test_c83_locks_left_by_a_killed_git_do_not_stop_the_next_one(world: World) -> None:
    sha, _ = world.fetched({"a.txt": "one\n"})
    for name in ("packed-refs.lock", "HEAD.lock", "refs/remotes/origin/main.lock", "refs/fixwright/w.lock"):
        (world.mirror.path / name).parent.mkdir(parents=True, exist_ok=True)
        (world.mirror.path / name).touch()
    second = world.commit({"a.txt": "two\n"})
    world.mirror.fetch(world.access)
    world.mirror.set_ref("w", sha)
    assert world.mirror.default_head("main") == second and world.mirror.ref("w") == sha


def test_tidying_packs_and_keeps_what_is_referred_to_or_young(world: World, tmp_path: Path) -> None:
    sha, base = world.fetched({"a.txt": "one\n"})
    loose = world.mirror.snapshot(_written(tmp_path / "made", {"new": "work"}), base).tree
    kept = world.mirror.commit(base, [sha], "wip", when=WHEN)
    world.mirror.set_ref("wip", kept)
    world.mirror.tidy()
    assert world.mirror.ref("wip") == kept and world.mirror.default_head("main") == sha
    assert "new" in world.mirror.list_files(loose)
    assert len(list((world.mirror.path / "objects" / "pack").glob("*.pack"))) == 1


def test_a_mirror_whose_making_was_cut_short_is_made_anew(world: World) -> None:
    (world.mirror.path / "HEAD").unlink()
    again = Mirror(world.mirror.path, world.git)
    again.fetch(world.access)
    assert (again.path / "HEAD").exists()


def test_past_changes_tell_messages_and_paths_without_merges_and_bulk(world: World) -> None:
    world.fetched({"a.txt": "one\n"})
    world.commit({f"bulk/{number}.txt": "x\n" for number in range(60)}, "Format everything")
    world.commit({"a.txt": "two\n", "deep/ünï code.txt": "x\n"}, "Count to two\n\nAnd mind the rest.")
    person("push", "-q", "origin", "HEAD:refs/heads/main", at=world.desk)
    world.mirror.fetch(world.access)
    head = world.mirror.default_head("main")
    found = world.mirror.past_changes(head)

    assert [change.message for change in found] == ["Count to two\n\nAnd mind the rest.", "change"]
    assert found[0].paths == ("a.txt", "deep/ünï code.txt")
    assert [change.message for change in world.mirror.past_changes(head, 1)] == [found[0].message]
