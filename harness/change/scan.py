"""Looks at a worktree by lstat before git does: bounded, following nothing, refusing the unpublishable."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from domain.errors import PolicyRefusal
from domain.model import Finding, Severity
from harness.change import names
from harness.change.model import EXECUTABLE, GITLINK, REGULAR, SYMLINK, Exclusion, TreeEntry

SPECIAL_FILE = "CHANGE-SPECIAL-FILE"
NESTED_GIT = "CHANGE-NESTED-GIT"
TREE_LIMIT = "CHANGE-LIMIT"

_PATH_BYTES = 1500
_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimits:
    """Bounds of one worktree: new files and bytes of each, directory levels, entries of any kind."""

    new_files: int = 20_000
    new_file_bytes: int = 10 * 2**20
    depth: int = 200
    entries: int = 500_000


DEFAULT_LIMITS = ScanLimits()


@dataclass(frozen=True, slots=True)
class Entry:
    """What lstat says of a path: git's mode, bytes, and a symlink's target."""

    mode: str
    size: int
    target: str = ""


@dataclass(slots=True)
class Scan:
    """The files and symlinks of a worktree by path, and what was left out."""

    entries: dict[str, Entry] = field(default_factory=dict)
    excluded: list[Exclusion] = field(default_factory=list)


def refusal(rule: str, path: str, what: str, why: str) -> PolicyRefusal:
    """Return the error for one broken rule; its message names the path."""
    shown = path.encode("utf-8", "backslashreplace").decode()
    finding = Finding(rule=rule, path=shown, line=0, what=what, why=why, severity=Severity.CRITICAL)
    return PolicyRefusal(f"{what} {shown}: {why}", (finding,))


def scan_tree(root: Path, tracked: Mapping[str, TreeEntry], limits: ScanLimits = DEFAULT_LIMITS) -> Scan:
    """Return what a worktree holds, its own `.git` apart; `tracked` is the base tree.

    Raises:
        PolicyRefusal: for special files, git directories in disguise, and trees beyond the limits.
    """
    scanner = _Scanner(tracked, limits)
    with _opened(str(root), None) as descriptor:
        scanner.directory(descriptor, "", 0)
    return scanner.scan


class _Scanner:
    """One walk, by directory descriptors: no path is ever resolved, so no link can lead it astray."""

    def __init__(self, tracked: Mapping[str, TreeEntry], limits: ScanLimits) -> None:
        self.scan = Scan()
        self._tracked = tracked
        self._limits = limits
        self._seen = 0
        self._tracked_directories = set(parents(tracked))

    def directory(self, descriptor: int, prefix: str, depth: int) -> None:
        """Scan one open directory; `prefix` is its path with a trailing slash, or ""."""
        if depth > self._limits.depth:
            why = f"more than {self._limits.depth} levels deep"
            raise refusal(TREE_LIMIT, prefix, "directory", why)
        with os.scandir(descriptor) as listing:
            found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in listing]
        found.sort()
        kind = self._kind(prefix, {name for name, _ in found})
        if kind and prefix.rstrip("/") not in self._tracked_directories and prefix:
            self.scan.excluded.append(Exclusion(prefix, kind))
            return
        for name, status in found:
            self._entry(descriptor, name, prefix + name, status, depth)

    def _kind(self, prefix: str, held: set[str]) -> str:
        """Return why a directory is to be left out as a whole, or ""; refuse what cannot be."""
        is_tracked = prefix.rstrip("/") in self._tracked_directories or not prefix
        if prefix and ".git" in held:
            if is_tracked:
                raise refusal(NESTED_GIT, prefix + ".git", "nested repository", "inside tracked files")
            return "nested git repository"
        if held >= names.BARE_REPOSITORY and not self._is_old_bare(prefix):
            if is_tracked:
                raise refusal(NESTED_GIT, prefix or ".", "bare repository", "inside tracked files")
            return "nested git repository"
        return "cache or installed environment" if held & names.DIRECTORY_MARKERS else ""

    def _is_old_bare(self, prefix: str) -> bool:
        return f"{prefix}HEAD" in self._tracked

    def _entry(self, parent: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        self._seen += 1
        if self._seen > self._limits.entries:
            raise refusal(TREE_LIMIT, path, "tree", f"more than {self._limits.entries} files and directories")
        if path == ".git":
            return
        if names.is_git_directory(name):
            raise refusal(NESTED_GIT, path, "git directory in disguise", "names like .git are not published")
        if len(os.fsencode(path)) > _PATH_BYTES:
            raise refusal(TREE_LIMIT, path[:200] + "…", "path", f"longer than {_PATH_BYTES} bytes")
        tracked = self._tracked.get(path)
        if tracked is not None and tracked.mode == GITLINK:
            self._submodule(parent, name, path, status)
        elif stat.S_ISDIR(status.st_mode):
            self._subdirectory(parent, name, path, depth)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=parent)
            self.scan.entries[path] = Entry(SYMLINK, len(os.fsencode(target)), target)
        elif stat.S_ISREG(status.st_mode):
            self._file(parent, name, path, status)
        else:
            raise refusal(
                SPECIAL_FILE, path, "special file", "only files, directories and symlinks are published"
            )

    def _submodule(self, parent: int, name: str, path: str, status: os.stat_result) -> None:
        """A submodule stays what it is on the base; what lies in its place is left out, and said so."""
        if not stat.S_ISDIR(status.st_mode):
            self.scan.excluded.append(Exclusion(path, "in the place of a submodule"))
            return
        with _opened(name, parent) as descriptor, os.scandir(descriptor) as listing:
            if next(listing, None) is not None:
                self.scan.excluded.append(Exclusion(path + "/", "inside a submodule"))

    def _subdirectory(self, parent: int, name: str, path: str, depth: int) -> None:
        if names.artefact_directory(name) and path not in self._tracked_directories:
            self.scan.excluded.append(Exclusion(path + "/", "cache or installed environment"))
            return
        with _opened(name, parent) as descriptor:
            self.directory(descriptor, path + "/", depth + 1)

    def _file(self, parent: int, name: str, path: str, status: os.stat_result) -> None:
        if path not in self._tracked and (names.artefact_file(name) or _is_core_dump(parent, name)):
            self.scan.excluded.append(Exclusion(path, "left over from running or editing"))
            return
        if not status.st_mode & stat.S_IRUSR:
            _make_accessible(name, parent, 0o600 | stat.S_IMODE(status.st_mode) & 0o700)
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
        self.scan.entries[path] = Entry(mode, status.st_size)


def parents(paths: Iterable[str]) -> Iterator[str]:
    """Yield every directory above the paths, without a trailing slash, most of them repeatedly."""
    last = ""
    for path in paths:
        directory = path.rpartition("/")[0]
        if directory == last:
            continue
        last = directory
        while directory:
            yield directory
            directory = directory.rpartition("/")[0]


@contextmanager
def _opened(name: str, parent: int | None) -> Iterator[int]:
    """Yield a descriptor of a directory, made readable first where its owner closed it."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        _make_accessible(name, parent, 0o700)
        descriptor = os.open(name, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make_accessible(name: str, parent: int | None, mode: int) -> None:
    """Change a mode without following a link: by the descriptor that O_PATH gives, through /proc."""
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
            Path(f"/proc/self/fd/{descriptor}").chmod(mode)
    finally:
        os.close(descriptor)


def _is_core_dump(parent: int, name: str) -> bool:
    if not names.may_be_core_dump(name):
        return False
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except PermissionError:
        return True  # the kernel writes core dumps readable by their owner alone; nothing else looks like it
    try:
        return os.read(descriptor, len(_ELF)) == _ELF
    finally:
        os.close(descriptor)
