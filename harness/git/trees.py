"""Trees in and out of a repository: list, read, check out, snapshot, overlay; each with its own index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from domain.errors import GitError
from harness.change import ScanLimits, TreeEntry, scan_tree
from harness.change.model import EXECUTABLE, REGULAR, SYMLINK
from harness.change.selection import Selection, select
from harness.git.runner import GitRunner, Limits, Place
from harness.git.values import Snapshot, object_name, repository_path
from harness.room import no_room

_IGNORED_SHOWN = 200
_LISTING = Limits(output=256 * 2**20)
_BLOCK = 4096
_LONG = Limits(seconds=300)
_TARGET_BYTES = 4096


def list_files(git: GitRunner, place: Place, treeish: str, path: str = "") -> dict[str, TreeEntry]:
    """Return the files of a tree by path, in git's order; with `path`, only that one or those below it."""
    below = ["--", path] if path else []
    listing = git.run(
        place, "ls-tree", "-r", "-z", "-l", "--full-tree", object_name(treeish), *below, limits=_LISTING
    )
    entries = {}
    for record in listing.split(b"\0")[:-1]:
        about, _, name = record.partition(b"\t")
        mode, _, sha, size = about.decode().split()
        entries[os.fsdecode(name)] = TreeEntry(mode, sha, 0 if size == "-" else int(size))
    return entries


def links(
    git: GitRunner, place: Place, treeish: str, wanted: Callable[[str], bool]
) -> tuple[tuple[str, str], ...]:
    """Return path and target of the wanted symlinks of a tree."""
    return tuple(
        (path, os.fsdecode(git.run(place, "cat-file", "blob", entry.sha)))
        for path, entry in list_files(git, place, treeish).items()
        if entry.mode == SYMLINK and entry.size <= _TARGET_BYTES and wanted(path)
    )


def read_file(git: GitRunner, place: Place, treeish: str, path: str, *, limit: int) -> bytes | None:
    """Return a regular file's bytes, or None. Raises GitError when it is larger than `limit`."""
    entry = list_files(git, place, treeish, repository_path(path)).get(path)
    if entry is None or entry.mode not in {REGULAR, EXECUTABLE}:
        return None
    if entry.size > limit:
        raise GitError(f"{path} has {entry.size} bytes, more than the {limit} that are read")
    return git.run(place, "cat-file", "blob", entry.sha, limits=Limits(output=limit + 1))


def check_out(git: GitRunner, place: Place, tree: str) -> None:
    """Write a tree into the worktree of `place`, which must be empty."""
    if place.work_tree is None or any(Path(place.work_tree).iterdir()):
        raise GitError("a tree is only written into an empty directory")
    room = os.statvfs(place.work_tree)
    git.run(place, "read-tree", "--", object_name(tree), limits=_LONG)
    try:
        git.run(place, "checkout-index", "--all", "--quiet", limits=_LONG)
    except GitError as error:
        # Git only says that it could not write a file, not why.
        sizes = [entry.size for entry in list_files(git, place, tree).values()]
        needed = sum(size + _BLOCK for size in sizes)
        if needed > room.f_bavail * room.f_frsize or (room.f_files and len(sizes) > room.f_favail):
            raise no_room("git checkout-index") from error
        raise


def snapshot(git: GitRunner, place: Place, base_tree: str, limits: ScanLimits) -> Snapshot:
    """Return the worktree of `place` as a tree; see `Mirror.snapshot`."""
    if place.work_tree is None:
        raise GitError("a snapshot needs a worktree")
    tracked = list_files(git, place, base_tree)
    scan = scan_tree(place.work_tree, tracked, limits)
    ignored = _ignored(git, place, [path for path in scan.entries if path not in tracked])
    selection = select(scan, tracked, ignored, limits)
    tree = _write(git, place, base_tree, selection)
    expected = (set(tracked) - set(selection.gone)) | set(selection.present)
    if set(list_files(git, place, tree)) != expected:
        raise GitError("git left out or added files on its own; the snapshot is not what the worktree holds")
    shown = tuple(sorted(ignored))[:_IGNORED_SHOWN]
    return Snapshot(tree, selection.excluded, shown, len(ignored))


def _ignored(git: GitRunner, place: Place, paths: Sequence[str]) -> frozenset[str]:
    """Return which new paths the worktree's `.gitignore` files ignore."""
    if not paths:
        return frozenset()
    stdin = _joined(["./" + path for path in paths])  # so that none begins with the ":" of pathspec magic
    done = git.call(place, "check-ignore", "--no-index", "-z", "--stdin", stdin=stdin, limits=_LISTING)
    if done.code not in {0, 1}:
        raise done.failure()
    return frozenset(path.removeprefix("./") for path in os.fsdecode(done.output).split("\0")[:-1])


def _write(git: GitRunner, place: Place, base_tree: str, selection: Selection) -> str:
    git.run(place, "read-tree", "--", object_name(base_tree), limits=_LONG)
    if selection.gone:  # first, so that a file may become a directory and the other way round
        git.run(place, "update-index", "-z", "--index-info", stdin=_removals(selection.gone, base_tree))
    if selection.present:
        git.run(
            place, "update-index", "--add", "-z", "--stdin", stdin=_joined(selection.present), limits=_LONG
        )
    return git.run(place, "write-tree").decode().strip()


def overlay(git: GitRunner, place: Place, base_tree: str, from_tree: str, *, paths: Sequence[str]) -> str:
    """Return `base_tree` with `paths`, files or directories, as `from_tree` has them."""
    git.run(place, "read-tree", "--", object_name(base_tree), limits=_LONG)
    chosen = [repository_path(path) for path in paths]
    old, new = (_at_or_below(list_files(git, place, tree), chosen) for tree in (base_tree, from_tree))
    records = _removals([path for path in old if path not in new], base_tree)
    for path, entry in new.items():
        records += f"{entry.mode} {entry.sha}\t".encode() + os.fsencode(path) + b"\0"
    if records:
        git.run(place, "update-index", "--add", "--replace", "-z", "--index-info", stdin=records)
    return git.run(place, "write-tree").decode().strip()


def with_texts(git: GitRunner, place: Place, tree: str, texts: Mapping[str, bytes]) -> str:
    """Return `tree` with other texts in some of its files. Raises GitError for one that it lacks."""
    git.run(place, "read-tree", "--", object_name(tree), limits=_LONG)
    files, records = list_files(git, place, tree), b""
    for path, text in texts.items():
        entry = files.get(repository_path(path))
        if entry is None:
            raise GitError(f"a text was given for a file that the tree does not have: {path}")
        written = git.run(place, "hash-object", "-w", "--stdin", stdin=text).decode().strip()
        records += f"{entry.mode} {object_name(written)}\t".encode() + os.fsencode(path) + b"\0"
    if records:
        git.run(place, "update-index", "-z", "--index-info", stdin=records)
    return git.run(place, "write-tree").decode().strip()


def _at_or_below(files: dict[str, TreeEntry], paths: Sequence[str]) -> dict[str, TreeEntry]:
    exact, below = set(paths), tuple(path + "/" for path in paths)
    return {path: entry for path, entry in files.items() if path in exact or path.startswith(below)}


def _removals(paths: Iterable[str], any_sha: str) -> bytes:
    nothing = b"0" * len(any_sha)
    return b"".join(b"0 " + nothing + b"\t" + os.fsencode(path) + b"\0" for path in paths)


def _joined(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
