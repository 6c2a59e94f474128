"""Keeps what set-ups came to: published whole or not at all, used by a lock, the longest unused evicted."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from harness.setup.made import Made
from harness.workspace.removal import measure_tree, remove_tree

_log = structlog.get_logger(__name__)
_RECORD = "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What an entry holds. `home` are the names of what was left in the home directory."""

    made: tuple[Made, ...]
    home: tuple[str, ...]
    remarks: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept result. `hold` is a descriptor; while it is open, nobody evicts the entry."""

    path: Path
    record: Record
    hold: int


class SetupCache:
    """Results below `root`, by repository and key. Only the set-up phase ever writes there."""

    def __init__(self, root: Path, most_bytes: int, *, settle: Callable[[], object] | None = os.sync) -> None:
        """Make the directory: the sandbox's user may pass through it, and list nothing.

        `settle` brings written files to the disk, since a rename may get there before them.
        """
        self._settle = settle
        self.root = root.absolute()
        self.most_bytes = most_bytes
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o711)

    def find(self, forge: str, repository_id: str, key: str) -> Entry | None:
        """Return a result, held, and count it as used now; None where there is none."""
        path = self._place(forge, repository_id) / key
        try:
            hold = os.open(path / _RECORD, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(hold, fcntl.LOCK_SH | fcntl.LOCK_NB)
            record = _read(hold)
            os.utime(path / _RECORD)
        except (OSError, ValueError, KeyError, TypeError) as error:
            os.close(hold)
            _log.warning("set-up result cannot be used", entry=key, error=str(error))
            return None
        return Entry(path, record, hold)

    def publish(self, forge: str, repository_id: str, key: str, made: Path, record: Record) -> Entry | None:
        """Move a complete directory into its place; return the entry, held. Raises OSError.

        One that somebody else published meanwhile is as good. The newest is never evicted to fit.
        """
        (made / _RECORD).write_text(json.dumps(_written(record)), "utf-8")
        made.chmod(0o711)
        if self._settle is not None:
            self._settle()
        place = self._place(forge, repository_id)
        place.mkdir(exist_ok=True)
        place.chmod(0o711)
        with suppress(FileExistsError, OSError):
            made.rename(place / key)
        remove_tree(made)
        entry = self.find(forge, repository_id, key)
        for path in self.over(self.most_bytes):
            self.evict(path)
        return entry

    def entries(self) -> list[tuple[Path, datetime, int]]:
        """Return every result with its last use and its bytes, the longest unused first."""
        found = []
        for record in self.root.glob("*/*/" + _RECORD):
            with suppress(OSError, ValueError, KeyError, TypeError):
                used = datetime.fromtimestamp(record.stat().st_mtime, UTC)
                content = json.loads(record.read_bytes())
                found.append((record.parent, used, int(content["bytes"])))
        return sorted(found, key=lambda entry: entry[1])

    def over(self, most_bytes: int) -> Iterator[Path]:
        """Yield the longest unused results, as long as all together take more than `most_bytes`."""
        entries = self.entries()
        total = sum(size for _, _, size in entries)
        for path, _, size in entries[:-1]:
            if total <= most_bytes:
                return
            total -= size
            yield path

    def evict(self, path: Path) -> bool:
        """Remove a result that nobody uses; False where somebody does."""
        try:
            lock = os.open(path / _RECORD, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (path / _RECORD).unlink()
            remove_tree(path)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
        _log.info("set-up result evicted", entry=path.name)
        return True

    def sweep(self) -> None:
        """Remove what is no whole result: a crash in the middle of a removal leaves such."""
        for path in [*self.root.glob("*/*")]:
            if not (path / _RECORD).exists():
                remove_tree(path)
        for place in self.root.iterdir():
            with suppress(OSError):
                place.rmdir()

    def _place(self, forge: str, repository_id: str) -> Path:
        identity = f"{forge}\0{repository_id}".encode("utf-8", "surrogatepass")
        label = re.sub(r"[^a-z0-9]+", "-", forge.casefold()).strip("-")[:20] or "forge"
        return self.root / f"{label}-{hashlib.sha256(identity).hexdigest()[:32]}"


def bytes_of(path: Path) -> int:
    """Return what a directory takes on disk."""
    return measure_tree(path)[0]


def _written(record: Record) -> dict[str, object]:
    made = [[each.path, each.is_directory] for each in record.made]
    return {"made": made, "home": record.home, "remarks": record.remarks, "bytes": record.bytes}


def _read(descriptor: int) -> Record:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        content = json.load(file)
    return Record(
        made=tuple(Made(str(path), bool(is_directory)) for path, is_directory in content["made"]),
        home=tuple(map(str, content["home"])),
        remarks=tuple(map(str, content["remarks"])),
        bytes=int(content["bytes"]),
    )
