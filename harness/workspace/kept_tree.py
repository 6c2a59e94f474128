"""A byte-exact copy of a directory tree in two files, and the way back to it from whatever came after."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from domain.errors import TransactionError
from harness.workspace.listing import (
    CHUNK,
    Entry,
    Kind,
    chunks_of,
    digest_at,
    list_tree,
    place_of,
)
from harness.workspace.placing import Places, sync

_LIST, _CONTENT = "entries.jsonl", "content"
_CLOSED = "closed to us"
"""Stands for the digest of a file that somebody has closed to its owner meanwhile."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry as it was, the SHA-256 of its content or target, and where its content is kept."""

    entry: Entry
    digest: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KeptTree:
    """The copy. `folder` holds it; `leave_out` are the directories that it does not cover."""

    folder: Path
    entries: Mapping[str, Kept]
    leave_out: tuple[str, ...] = ()

    @classmethod
    def keep(cls, root: int, folder: Path, leave_out: Collection[str] = ()) -> KeptTree:
        """Copy a tree into an empty folder; it is on disk when this returns.

        Raises TransactionError for what could not be put back, OSError.
        """
        with (folder / _CONTENT).open("xb") as content:
            entries = {
                path: _copied(root, path, entry, content)
                for path, entry in list_tree(root, leave_out).items()
            }
            _to_disk(content)
        kept = cls(folder, entries, tuple(sorted(leave_out)))
        with (folder / _LIST).open("xb") as listing:
            listing.write(json.dumps(kept.leave_out).encode() + b"\n")
            listing.writelines(
                json.dumps(_row(path, each)).encode() + b"\n" for path, each in entries.items()
            )
            _to_disk(listing)
        sync(folder)
        return kept

    @classmethod
    def read(cls, folder: Path) -> KeptTree:
        """Return the copy that a folder holds. Raises TransactionError."""
        try:
            first, *rows = (folder / _LIST).read_bytes().splitlines()
            return cls(folder, dict(map(_from_row, map(json.loads, rows))), tuple(json.loads(first)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TransactionError(f"{folder}: the copy of the tree cannot be read: {error}") from None

    def digest(self) -> str:
        """Return one name for the whole tree: its paths, kinds, modes and contents."""
        return tree_digest({path: (kept.entry, kept.digest) for path, kept in self.entries.items()})

    def now(self, root: int) -> dict[str, tuple[Entry, str]]:
        """Return every entry of the tree as it is now, with its digest; what was not touched is not read."""
        found = {}
        for path, entry in list_tree(root, self.leave_out).items():
            kept = self.entries.get(path)
            untouched = kept is not None and kept.entry.identity == entry.identity
            found[path] = (entry, kept.digest if kept and untouched else _digest(root, path, entry))
        return found

    def differences(self, now: Mapping[str, tuple[Entry, str]]) -> dict[str, str]:
        """Return what is not as it was: path to "A" (new), "D" (gone) or "M"."""
        found = {path: "A" for path in now if path not in self.entries}
        for path, kept in self.entries.items():
            if path not in now:
                found[path] = "D"
            elif _essence(kept.entry, kept.digest) != _essence(*now[path]):
                found[path] = "M"
        return found

    def restore(
        self, root: int, put_aside: Path | None = None, ours: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        """Make the tree what it was, to the byte. May be cut off anywhere and begun again.

        With `put_aside`, files that others wrote meanwhile are copied below that folder first: all but those
        whose digest is what `ours` has for their path. Returns their paths. Raises TransactionError, OSError.
        """
        list_tree(root, self.leave_out, opening=True)
        now = self.now(root)
        changed = self.differences(now)
        aside = self._aside(root, now, changed, put_aside, ours or {})
        places = Places(root)
        for path in sorted((path for path, how in changed.items() if how == "A"), reverse=True):
            places.remove(path)
        for path in self.entries:
            if path in changed:
                self._put_back(places, path)
        for path in sorted(self.entries, reverse=True):
            if self.entries[path].entry.kind is Kind.DIRECTORY:
                places.settle(path, self.entries[path].entry)
        if wrong := sorted(self.differences(self.now(root))):
            raise TransactionError(
                f"{', '.join(wrong[:5])}: could not be put back; what it was is in {self.folder}"
            )
        return aside

    def _aside(
        self,
        root: int,
        now: Mapping[str, tuple[Entry, str]],
        changed: Mapping[str, str],
        folder: Path | None,
        ours: Mapping[str, str],
    ) -> tuple[str, ...]:
        """Copy files that others wrote, and return their paths."""
        if folder is None:
            return ()
        saved = []
        for path in sorted(path for path, how in changed.items() if how != "D"):
            (entry, digest), kept = now[path], self.entries.get(path)
            if entry.kind is not Kind.FILE or digest in {
                _CLOSED,
                ours.get(path),
                kept.digest if kept else "",
            }:
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with place_of(root, path) as (directory, name), (folder / path).open("wb") as copy:
                copy.writelines(chunks_of(directory, name))
                _to_disk(copy)
            saved.append(path)
        return tuple(saved)

    def _put_back(self, places: Places, path: str) -> None:
        kept = self.entries[path]
        if kept.entry.kind is Kind.DIRECTORY:
            places.make_directory(path)
        elif kept.entry.kind is Kind.FILE:
            places.write(path, self._content(kept), kept.entry)
        elif kept.entry.kind is Kind.LINK:
            places.link(path, kept.entry)
        elif kept.entry.kind is Kind.PIPE:
            places.pipe(path, kept.entry)

    def _content(self, kept: Kept) -> Iterator[bytes]:
        with (self.folder / _CONTENT).open("rb") as content:
            content.seek(kept.offset)
            left = kept.entry.size
            while left:
                chunk = content.read(min(left, CHUNK))
                if not chunk:
                    raise TransactionError(f"{self.folder}: the copy of the tree is cut short")
                left -= len(chunk)
                yield chunk


def tree_digest(entries: Mapping[str, tuple[Entry, str]]) -> str:
    """Return one name for a tree: its paths, kinds, modes and contents."""
    whole = hashlib.sha256()
    for path in sorted(entries):
        entry, digest = entries[path]
        whole.update(os.fsencode(f"{path}\0{entry.kind}\0{entry.mode:o}\0{digest}\n"))
    return whole.hexdigest()


def _copied(root: int, path: str, entry: Entry, content: BinaryIO) -> Kept:
    """Copy a file's content, and return the entry with the size that was copied."""
    if entry.kind is not Kind.FILE:
        return Kept(entry, digest_at(root, path, entry))
    offset, size, digest = content.tell(), 0, hashlib.sha256()
    try:
        with place_of(root, path) as (directory, name):
            for chunk in chunks_of(directory, name):
                size += content.write(chunk)
                digest.update(chunk)
    except PermissionError:
        raise TransactionError(f"{path}: cannot be read, so it could not be put back") from None
    if size != entry.size:
        raise TransactionError(f"{path}: somebody is writing it just now; try again when that is over")
    return Kept(entry, digest.hexdigest(), offset)


def _digest(root: int, path: str, entry: Entry) -> str:
    try:
        return digest_at(root, path, entry)
    except PermissionError:
        return _CLOSED


def _essence(entry: Entry, digest: str) -> tuple[object, ...]:
    """Return what has to be the same again. Of a directory or a link the time does not count."""
    modified = entry.modified_ns if entry.kind in {Kind.FILE, Kind.PIPE} else 0
    mode = 0 if entry.kind is Kind.LINK else entry.mode
    owner = entry.owner if os.geteuid() == 0 else ()
    return entry.kind, mode, entry.size, modified, entry.target, owner, digest


def _row(path: str, kept: Kept) -> list[object]:
    entry = kept.entry
    numbers = [entry.mode, entry.size, entry.modified_ns, *entry.owner, *entry.identity, kept.offset]
    return [path, entry.kind.value, entry.target, kept.digest, *numbers]


def _from_row(row: list[object]) -> tuple[str, Kept]:
    path, kind, target, digest, *rest = row
    mode, size, modified, uid, gid, device, inode, changed, offset = (int(str(each)) for each in rest)
    entry = Entry(Kind(str(kind)), mode, size, modified, (uid, gid), (device, inode, changed), str(target))
    return str(path), Kept(entry, str(digest), offset)


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
