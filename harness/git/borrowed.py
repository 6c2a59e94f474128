"""A checked-out repository, looked at without writing into it: a throw-away one borrows its objects.

Its own settings may name programs that git starts, so no verb that would read such a setting works on it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from domain.errors import GitError
from harness.git.environment import ATTRIBUTES
from harness.git.mirror import Mirror
from harness.git.patching import LOOSE, REVERSE, Patched, patched
from harness.git.runner import GitRunner, Limits, Place
from harness.git.values import object_name, repository_path

_POINTER_BYTES = 4096
_LENDERS = "objects/info/alternates"
_OBJECT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A directory of somebody's, with or without a history. `mirror` is ours, and gone afterwards.

    `root` is the working copy's top directory; `git_dir` is None where there is no history.
    """

    root: Path
    git_dir: Path | None
    mirror: Mirror

    def commit(self, name: str) -> str:
        """Return the commit that a branch, tag, hash or the like means. Raises GitError."""
        if self.git_dir is None:
            raise GitError(f"{self.root} is no git repository: it has no {name[:100]!r}")
        if not name.isprintable():
            raise GitError(f"not a name of a commit: {name[:100]!r}")
        done = self.mirror.runner.call(
            Place(git_dir=self.git_dir),
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            name + "^{commit}",
        )
        if done.code != 0:
            raise GitError(f"no commit is known as {name[:100]!r} in {self.root}")
        return done.output.decode().strip()

    def as_it_is(self, paths: Sequence[str]) -> str:
        """Return a tree of these files of the working copy, as they are now. Raises GitError."""
        records = b"".join(os.fsencode(repository_path(path)) + b"\0" for path in paths)
        with self.mirror.throwaway(work_tree=self.root) as place:
            runner = self.mirror.runner
            runner.run(place, "read-tree", "--empty")
            if records:
                runner.run(place, "update-index", "--add", "--remove", "-z", "--stdin", stdin=records)
            return runner.run(place, "write-tree").decode().strip()

    def fitted(self, patch: bytes) -> Patched:
        """Return what a patch makes of the working copy, however carelessly it was cut. Raises GitError."""
        try:
            return self.with_patch(patch)
        except GitError as error:
            if self.has_already(patch):
                raise GitError("the patch is in the working copy already") from None
            try:
                return self.with_patch(patch, None, LOOSE)
            except GitError:
                raise error from None

    def has_already(self, patch: bytes) -> bool:
        """Tell whether a patch could be taken back from the working copy."""
        for options in ((), (LOOSE,)):
            try:
                self.without_patch(patch, *options)
            except GitError:
                continue
            return True
        return False

    def with_patch(self, patch: bytes, base_tree: str | None = None, *options: str) -> Patched:
        """Return what a patch makes of a tree (None: of the working copy as it is). Raises GitError."""
        base = (lambda _: base_tree) if base_tree is not None else self.as_it_is
        return patched(self.mirror, patch, base, *options)

    def without_patch(self, patch: bytes, *options: str) -> Patched:
        """Return what a patch that the working copy has already has made of it. Raises GitError."""
        taken_back = patched(self.mirror, patch, self.as_it_is, REVERSE, *options)
        return Patched(base_tree=taken_back.tree, tree=taken_back.base_tree, paths=taken_back.paths)


@contextmanager
def looking_at(directory: Path, *, upwards: bool = True) -> Iterator[Checkout]:
    """Yield a directory's checkout: that of the repository around it, else the directory alone.

    Without `upwards`, nothing above the directory is looked at. Raises GitError.
    """
    place = directory.resolve()
    root, git_dir = _found(place, place.parents if upwards else ())
    scratch = Path(tempfile.mkdtemp(prefix="fixwright-look-"))
    try:
        runner = GitRunner(scratch / "home")
        borrow(scratch / "borrowed.git", runner, git_dir)
        yield Checkout(root, git_dir, Mirror(scratch / "borrowed.git", runner))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def git_directory(root: Path) -> Path | None:
    """Return the repository behind a working copy's top directory, that of a linked one too, or None."""
    entry = root / ".git"
    if entry.is_dir():
        return entry
    said = _pointer(entry)
    named = os.fsdecode(said).strip().removeprefix("gitdir:").strip()
    if not named or "\0" in named:
        return None
    found = (root / named).resolve()
    return found if said.startswith(b"gitdir:") and found.is_dir() else None


def _found(directory: Path, above: Sequence[Path]) -> tuple[Path, Path | None]:
    if (directory / "HEAD").is_file() and (directory / "objects").is_dir():
        return directory, directory
    for root in (directory, *above):
        if git_dir := git_directory(root):
            return root, git_dir
    return directory, None


def borrow(path: Path, runner: GitRunner, git_dir: Path | None) -> None:
    """Make a bare repository, or open one; objects that it lacks are read where `git_dir` has them.

    Raises GitError.
    """
    if not (path / "HEAD").exists():
        _create(path, runner, git_dir)
    if git_dir is None:
        return
    common = _common(git_dir)
    lent = str(common / "objects")
    if "\n" in lent or lent.startswith('"'):
        raise GitError(f"a path like {lent!r} cannot be borrowed from")
    (path / "objects" / "info").mkdir(exist_ok=True)
    (path / _LENDERS).write_bytes(os.fsencode(lent) + b"\n")
    if (common / "shallow").is_file():
        shutil.copyfile(common / "shallow", path / "shallow")


def give(lender: Path, mirror: Mirror, ref: str, commit: str) -> None:
    """Give a repository a commit of a borrowing one, with all that it lacks, under a new ref.

    Files are put beside its own: a fetch of its own would start what its settings name. Raises GitError.
    """
    objects = _common(lender) / "objects"
    made = mirror.path / "objects"
    try:
        # A pack's index makes the pack known, so it comes last; loose objects know of no order.
        for file in sorted(made.rglob("*"), key=lambda each: (each.suffix == ".idx", each)):
            if file.is_file() and _OBJECT.fullmatch(str(file.relative_to(made))):
                _put(file, objects / file.relative_to(made))
    except OSError as error:
        raise GitError(f"{objects}: cannot be written: {error.strerror}") from None
    mirror.runner.run(Place(git_dir=lender), "update-ref", "--no-deref", ref, object_name(commit), "")


def _put(file: Path, target: Path) -> None:
    """Put an object's file in its place in one move, unless it is there: its name stands for its content."""
    if target.exists():
        return
    target.parent.mkdir(exist_ok=True)
    descriptor, arriving = tempfile.mkstemp(prefix="tmp_obj_", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as written, file.open("rb") as read:
            shutil.copyfileobj(read, written)
            os.fchmod(written.fileno(), 0o444)
            written.flush()
            os.fsync(written.fileno())
        Path(arriving).replace(target)
    except BaseException:
        Path(arriving).unlink(missing_ok=True)
        raise


def own(mirror: Mirror) -> None:
    """Copy what the refs of a borrowing repository need into it, and borrow no more. Raises GitError."""
    mirror.runner.run(mirror.place, "repack", "-a", "-d", "-q", limits=Limits(seconds=1800))
    (mirror.path / _LENDERS).unlink(missing_ok=True)


def _create(path: Path, runner: GitRunner, git_dir: Path | None) -> None:
    wanted = []
    if git_dir is not None:
        told = runner.run(Place(git_dir=git_dir), "rev-parse", "--show-object-format")
        wanted = [f"--object-format={told.decode().strip()}"]
    runner.run(Place(git_dir=path), "init", "--bare", "--quiet", "--template=", *wanted, "--", str(path))
    (path / "info").mkdir(exist_ok=True)
    (path / "info" / "attributes").write_text(ATTRIBUTES)


def _common(git_dir: Path) -> Path:
    said = os.fsdecode(_pointer(git_dir / "commondir")).strip()
    return (git_dir / said).resolve() if said and "\0" not in said else git_dir


def _pointer(file: Path) -> bytes:
    """Return the beginning of a regular file, nothing of what is none: a pipe would be waited for."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            return opened.read(_POINTER_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return b""
