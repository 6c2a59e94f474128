"""Transactions on working copies: kept as a whole, or back to the byte, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.workspace_recovery import recover
from domain.errors import GitError, TransactionError
from harness.workspace import CheckResult, Ending, TransactionalWorkspace, remove_tree
from harness.workspace.listing import opened
from tests.harness.git_world import person

SOURCE = "def twice(n):\n    return n + n\n"
FIX = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def twice(n):\n-    return n + n\n+    return 2 * n\n"
CHEAT = (
    "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,3 @@\n def twice(n):\n+    breakpoint()\n     return n + n\n"
)


def image(root: Path) -> dict[str, tuple[object, ...]]:
    """Return all there is to say of a tree, its `.git` apart, by means other than those under test."""
    found: dict[str, tuple[object, ...]] = {}
    for directory, names, files in os.walk(root):
        if Path(directory) == root and ".git" in names:
            names.remove(".git")
        for name in [*names, *files]:
            path = Path(directory) / name
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            content: object = None
            if kind == stat.S_IFLNK:
                content = str(path.readlink())
            elif kind == stat.S_IFREG:
                content = path.read_bytes()
            time = status.st_mtime_ns if kind != stat.S_IFLNK else 0
            mode = 0 if kind == stat.S_IFLNK else status.st_mode
            found[str(path.relative_to(root))] = (mode, content, time, status.st_uid, status.st_gid)
    return found


def furnish(root: Path) -> None:
    """Make a tree with something of every kind in it."""
    root.mkdir()
    (root / "calc.py").write_text(SOURCE)
    (root / "picture").write_bytes(bytes(range(256)) * 10)
    (root / "empty").mkdir()
    (root / "pkg" / "deep").mkdir(parents=True)
    (root / "pkg" / "deep" / "tool.sh").write_text("#!/bin/sh\n")
    (root / "pkg" / "deep" / "tool.sh").chmod(0o751)
    (root / "pkg" / "read only").write_text("x")
    (root / "pkg" / "read only").chmod(0o444)
    (root / "link").symlink_to("calc.py")
    (root / "pkg" / "dangling").symlink_to("/nowhere/at/all")
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"not utf-8 \xff")).write_text("y")
    (root / "pkg").chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    furnish(tmp_path / "tree")
    return tmp_path / "tree"


def passes(root: Path) -> CheckResult:
    return CheckResult(passed=True, summary="all well")


def test_what_nothing_speaks_against_is_kept(tree: Path) -> None:
    before = image(tree)

    receipt = TransactionalWorkspace(tree).apply(FIX, passes)

    assert receipt.kept and receipt.check == "all well" and receipt.before != receipt.after
    assert [(file.path, file.status, file.by_patch) for file in receipt.changed] == [("calc.py", "M", True)]
    after = image(tree)
    assert after.pop("calc.py")[1] == SOURCE.replace("n + n", "2 * n").encode()
    assert after == {path: what for path, what in before.items() if path != "calc.py"}


def test_what_the_guard_refuses_never_arrives(tree: Path) -> None:
    before, asked = image(tree), []

    receipt = TransactionalWorkspace(tree).apply(CHEAT, lambda root: asked.append(root) or passes(root))

    assert receipt.ending is Ending.TAKEN_BACK and receipt.before == receipt.after and not receipt.changed
    assert [finding.rule for finding in receipt.findings] == ["RH006"] and "RH006" in receipt.reason
    assert image(tree) == before and not asked
    assert TransactionalWorkspace(tree, guarded=False).apply(CHEAT).kept


def test_a_check_that_says_no_takes_back_what_it_wrote_itself(tree: Path) -> None:
    before = image(tree)

    def check(root: Path) -> CheckResult:
        assert "2 * n" in (root / "calc.py").read_text()
        vandalize(root, random.Random(7), 40)
        return CheckResult(passed=False, summary="1 test fails")

    receipt = TransactionalWorkspace(tree).apply(FIX, check)

    assert (receipt.ending, receipt.reason, receipt.check) == (
        Ending.TAKEN_BACK,
        "1 test fails",
        "1 test fails",
    )
    assert receipt.attempted == ("calc.py",) and receipt.before == receipt.after
    assert image(tree) == before


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), pytest.param(KeyboardInterrupt(), marks=pytest.mark.long)]
)
def test_an_exception_takes_everything_back_and_goes_on(tree: Path, error: BaseException) -> None:
    before = image(tree)
    workspace = TransactionalWorkspace(tree)

    with pytest.raises(type(error)), workspace.transaction() as transaction:
        transaction.apply(FIX)
        (tree / "left over").write_text("x")
        raise error

    assert image(tree) == before
    assert transaction.receipt is not None and transaction.receipt.ending is Ending.TAKEN_BACK


@pytest.mark.long
def test_several_patches_are_one_transaction(tree: Path) -> None:
    again = FIX.replace("-    return n + n\n+    return 2 * n", "-    return 2 * n\n+    return n * 2")

    with TransactionalWorkspace(tree).transaction() as transaction:
        transaction.apply(FIX)
        transaction.apply(again)

    assert transaction.receipt is not None and transaction.receipt.kept
    assert (tree / "calc.py").read_text() == SOURCE.replace("n + n", "n * 2")


@pytest.mark.long
def test_a_patch_of_every_kind(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    person("init", "-q", "-b", "main", ".", at=tree)
    (tree / "old").mkdir()
    (tree / "old" / "only one").write_text("1")
    (tree / "picture").write_bytes(bytes(range(256)))
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o640)
    (tree / "becomes").write_text("a file")
    person("add", "-A", at=tree)
    person("commit", "-q", "-m", "first", at=tree)
    (tree / "old" / "only one").unlink()
    (tree / "picture").write_bytes(bytes(reversed(range(256))))
    (tree / "tool").chmod(0o750)
    (tree / "becomes").unlink()
    (tree / "becomes").mkdir()
    (tree / "becomes" / "a directory").write_text("2")
    (tree / "inner").symlink_to("tool")
    person("add", "-A", at=tree)
    patch, wanted = person("diff", "--cached", "--binary", at=tree) + "\n", person("write-tree", at=tree)
    person("reset", "-q", "--hard", at=tree)
    (tree / "tool").chmod(0o640)

    assert TransactionalWorkspace(tree).apply(patch).kept

    person("add", "-A", at=tree)
    assert person("write-tree", at=tree) == wanted
    assert not (tree / "old").exists() and stat.S_IMODE((tree / "tool").stat().st_mode) == 0o750


UNFIT = {
    "other context": FIX.replace("def twice", "def thrice"),
    "no patch": "hello\n",
    "through a link": "--- /dev/null\n+++ b/outside/x\n@@ -0,0 +1 @@\n+new\n",
    "above": "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+new\n",
}


@pytest.mark.parametrize("patch", UNFIT.values(), ids=UNFIT)
@pytest.mark.long
def test_a_patch_that_does_not_fit_changes_nothing(tree: Path, tmp_path: Path, patch: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tree / "outside").symlink_to(tmp_path / "elsewhere")
    before = image(tree)

    with pytest.raises(GitError):
        TransactionalWorkspace(tree).apply(patch)

    assert image(tree) == before and not list((tmp_path / "elsewhere").iterdir())
    assert TransactionalWorkspace(tree).apply(FIX).kept, "the journal is free again"


@pytest.mark.long
def test_one_transaction_at_a_time(tree: Path) -> None:
    workspace = TransactionalWorkspace(tree)

    with workspace.transaction(), pytest.raises(TransactionError, match="another transaction is under way"):
        TransactionalWorkspace(tree).apply(FIX)

    assert workspace.apply(FIX).kept


@pytest.mark.long
def test_the_journal_is_beside_the_tree_or_in_its_git_and_never_in_it(tree: Path, tmp_path: Path) -> None:
    TransactionalWorkspace(tree).apply(FIX)
    assert (tmp_path / ".tree.fixwright-transactions" / "receipts").is_dir()

    person("init", "-q", ".", at=tree)
    TransactionalWorkspace(tree).apply(
        FIX.replace("-    return n + n", "-    return 2 * n").replace(
            "+    return 2 * n", "+    return n * 2"
        )
    )
    (kept,) = (tree / ".git" / "fixwright-transactions" / "receipts").iterdir()
    assert '"ending": "kept"' in kept.read_text()
    with pytest.raises(TransactionError, match="cannot lie in the tree"):
        TransactionalWorkspace(tree, journal=tree / "journal")


@pytest.mark.long
def test_directories_that_are_left_out_stay_as_they_become(tree: Path) -> None:
    (tree / "node_modules").mkdir()

    def check(root: Path) -> CheckResult:
        (root / "node_modules" / "new").write_text("x")
        (root / "other").write_text("x")
        return CheckResult(passed=False, summary="no")

    TransactionalWorkspace(tree, leave_out=["node_modules"]).apply(FIX, check)

    assert (tree / "node_modules" / "new").exists() and not (tree / "other").exists()


@pytest.mark.long
def test_a_symlink_out_of_the_tree_is_refused(tree: Path) -> None:
    patch = (
        "diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+../secret\n"
    )
    patch += "\\ No newline at end of file\n"

    assert "CHANGE-SYMLINK" in TransactionalWorkspace(tree).apply(patch).reason


@pytest.mark.long
@pytest.mark.parametrize("anew", [False, True])
def test_a_tree_that_is_moved_away_is_not_called_taken_back(tree: Path, anew: bool) -> None:
    before = image(tree)

    def check(root: Path) -> CheckResult:
        root.rename(root.with_name("elsewhere"))
        if anew:
            root.mkdir()
        return CheckResult(passed=False, summary="no")

    with pytest.raises(TransactionError, match="was moved or removed meanwhile"):
        TransactionalWorkspace(tree).apply(FIX, check)

    if not anew:
        tree.mkdir()
    recover(tree, keep=False, as_json=False)
    assert image(tree) == before


# -- whatever happens in between ----------------------------------------------------------------------


def vandalize(root: Path, chance: random.Random, times: int) -> None:
    """Do anything that programs do to a tree."""
    for number in range(times):
        paths = [p for p in root.rglob("*") if p.relative_to(root).parts[0] != ".git"]
        victim = chance.choice([root / f"new {number}", *paths])
        if not victim.parent.exists():
            continue
        deed = chance.choice(DEEDS)
        try:
            deed(victim, chance, number)
        except (OSError, ValueError):
            continue  # not everything can be done to everything


def _write(path: Path, chance: random.Random, number: int) -> None:
    if not path.is_fifo() and not path.is_symlink():
        path.write_bytes(chance.randbytes(chance.randrange(2000)))


def _shut(path: Path, chance: random.Random, number: int) -> None:
    """Change a mode; never through a link, which may lead out of the tree to this machine's own files."""
    if not path.is_symlink():
        path.chmod(chance.choice([0o000, 0o444, 0o500, 0o777]))


def _quietly(path: Path, chance: random.Random, number: int) -> None:
    """Change a file in place, with its size and time as they were."""
    if path.is_file() and not path.is_symlink():
        status = path.stat()
        path.write_bytes(chance.randbytes(status.st_size))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


DEEDS: list[Callable[[Path, random.Random, int], object]] = [
    _write,
    _quietly,
    _shut,
    lambda path, chance, number: remove_tree(path),
    lambda path, chance, number: (remove_tree(path), path.mkdir(), (path / "in it").write_text("x")),
    lambda path, chance, number: (remove_tree(path), path.symlink_to("/etc")),
    lambda path, chance, number: (remove_tree(path), os.mkfifo(path)),
    lambda path, chance, number: path.rename(path.with_name(f"renamed {number}")),
    lambda path, chance, number: os.link(path, path.with_name(f"linked {number}")),
    lambda path, chance, number: os.utime(path, (number, number), follow_symlinks=False),
]


def _taken_back(tree: Path, seed: int, times: int) -> None:
    furnish(tree)
    before = image(tree)

    with pytest.raises(ZeroDivisionError), TransactionalWorkspace(tree).transaction() as transaction:
        if seed % 5 == 0:
            transaction.apply(FIX)
        vandalize(tree, random.Random(seed), times)
        raise ZeroDivisionError

    assert image(tree) == before


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (0, 2, 3, 4, 5))])
def test_whatever_is_done_to_a_tree_is_taken_back(tmp_path: Path, seed: int) -> None:
    _taken_back(tmp_path / "tree", seed, 10 + 10 * seed)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), times=st.integers(1, 80))
def test_whatever_else_is_done_to_a_tree(
    tmp_path_factory: pytest.TempPathFactory, seed: int, times: int
) -> None:
    _taken_back(tmp_path_factory.mktemp("property") / "tree", seed, times)


DYING = """
import os, random, signal, sys
from pathlib import Path
from harness.workspace import CheckResult, TransactionalWorkspace
from tests.harness.test_transactional import FIX, vandalize

tree, fuse = Path(sys.argv[1]), int(sys.argv[2])
left = fuse

def burning(real):
    def call(*arguments, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return call

for name in ("rename", "replace", "unlink", "fsync", "fdatasync", "mkdir", "symlink", "rmdir", "fchmod"):
    setattr(os, name, burning(getattr(os, name)))

def check(root):
    vandalize(root, random.Random(fuse), 15)
    return CheckResult(passed=False, summary="no")

TransactionalWorkspace(tree).apply(FIX, check)
"""


def _dying(tree: Path, fuse: int) -> int:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(tree), str(fuse)],
        cwd=root,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode


@pytest.mark.long
@pytest.mark.parametrize("fuse", [1, 4, 6, 9, 13, 20, 26, 32, 40, 55])
def test_a_process_that_dies_anywhere_leaves_what_can_be_put_back(tree: Path, fuse: int) -> None:
    before = image(tree)

    killed = _dying(tree, fuse)
    receipt = TransactionalWorkspace(tree).recover()

    assert image(tree) == before
    assert receipt is None or (receipt.ending is Ending.RECOVERED and receipt.before == receipt.after)
    assert killed or receipt is None
    assert TransactionalWorkspace(tree).apply(FIX).kept


def test_what_people_wrote_before_a_recovery_is_kept_apart(tree: Path) -> None:
    with TransactionalWorkspace(tree)._journal.alone():
        descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
        begun = TransactionalWorkspace(tree)._journal.begin(descriptor, ())
        os.close(descriptor)
    before = image(tree)
    (tree / "calc.py").write_text("ours\n")
    begun.plan({"calc.py": "0f4c6b0b6c8f0e6d"})
    (tree / "pkg" / "mine").write_text("a day's work")
    with pytest.raises(TransactionError, match="fixwright workspace recover"):
        TransactionalWorkspace(tree).apply(FIX)

    said = recover(tree, keep=False, as_json=False)

    assert image(tree) == before
    assert "pkg/mine" in said and "written since" in said
    kept = next(tree.parent.glob(".tree.fixwright-transactions/put-aside/*"))
    assert (kept / "pkg" / "mine").read_text() == "a day's work"
    assert recover(tree, keep=False, as_json=False).endswith("no transaction is open\n")


def test_an_unfinished_transaction_may_be_kept_as_it_is(tree: Path) -> None:
    workspace = TransactionalWorkspace(tree)
    with workspace._journal.alone():
        descriptor = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
        workspace._journal.begin(descriptor, ())
        os.close(descriptor)
    (tree / "calc.py").write_text("better\n")

    assert recover(tree, keep=True, as_json=False).endswith("kept as it is\n")

    assert (tree / "calc.py").read_text() == "better\n" and not workspace.discard()


def _planted(tree: Path, **about: str) -> Path:
    """Leave a journal as nobody but an attacker writes it, and return the place of its copy."""
    journal = TransactionalWorkspace(tree)._journal
    with journal.alone(), opened(tree) as descriptor:
        folder = journal.begin(descriptor, ()).folder
    told = json.loads((folder / "about.json").read_text())
    (folder / "about.json").write_text(json.dumps(told | about))
    return folder


def test_a_planted_journal_names_no_folder_elsewhere(tree: Path, tmp_path: Path) -> None:
    """What was written since would be put there, and it may be anything."""
    target = tmp_path / "home"
    target.mkdir()
    _planted(tree, id=f"../../{target.name}")
    (tree / "authorized_keys").write_text("somebody's")
    with pytest.raises(TransactionError, match="not written by a transaction"):
        TransactionalWorkspace(tree).recover()
    assert not list(target.iterdir())


@pytest.mark.parametrize("way", ["../outside", "pkg/../../outside", "./../outside", "{}/outside"])
def test_a_planted_journal_writes_nothing_outside(tree: Path, tmp_path: Path, way: str) -> None:
    folder = _planted(tree)
    listing = folder / "entries.jsonl"
    first, *rows = listing.read_text().splitlines()
    row = json.loads(next(row for row in rows if json.loads(row)[1] == "file"))
    row[0] = way.format(tmp_path)
    listing.write_text("\n".join([first, *rows, json.dumps(row)]) + "\n")
    with pytest.raises(TransactionError, match="could not be put back"):
        TransactionalWorkspace(tree).recover()
    assert not (tmp_path / "outside").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write as somebody else")
def test_a_journal_of_somebody_else_is_not_followed(tree: Path) -> None:
    """It says which files are whose, with which modes: root would make them."""
    folder = _planted(tree)
    os.chown(folder, 65534, 65534)
    with pytest.raises(TransactionError, match="somebody else"):
        TransactionalWorkspace(tree).recover()
