"""The transcript of an attempt: JSON lines, appended and flushed to disk; packed when the attempt is over."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from domain.file_modes import inner_mode, read_only_mode
from domain.text import Redactor

PACKED_SUFFIX = ".gz"


SUMMARY = "summary"
"""Key of the record that holds the agent's own summary."""


class Transcript:
    """One file per attempt. A line cut short by a crash is ignored when it is read back."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self._path = path
        self._redact = redact

    def append(self, record: Mapping[str, object]) -> None:
        """Write one record; it is on disk when this returns. Raises OSError; then nothing of it counts."""
        line = self._redact(json.dumps(record, ensure_ascii=False, default=str))
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        _make_directory(self._path.parent)
        unpack(self._path)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            _let_group_read(descriptor, self._path.parent)
            if self._ends_mid_line():
                data = b"\n" + data
            _write_all(descriptor, data)
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, object]]:
        """Return the whole records, oldest first, packed or not."""
        records = []
        for line in _content(self._path).split(b"\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records

    def steps(self) -> list[dict[str, object]]:
        """Return the records of finished steps, oldest first."""
        return [record for record in self.read() if "step" in record]

    def summary(self) -> str:
        """Return how the agent summed up what it left unfinished, or ""."""
        return next((str(record[SUMMARY]) for record in reversed(self.read()) if SUMMARY in record), "")

    def _ends_mid_line(self) -> bool:
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"


def pack(path: Path) -> Path:
    """Compress a transcript that is over, and return the packed file; a crash leaves one of the two whole.

    Times stay as they were. Raises OSError.
    """
    packed = packed_path(path)
    with path.open("rb") as plain, _Beside(packed) as beside:
        with gzip.GzipFile(filename="", mode="wb", fileobj=beside.file, mtime=0) as squeezed:
            shutil.copyfileobj(plain, squeezed, 2**20)
        beside.take_its_place(like=path)
    path.unlink()
    return packed


def unpack(path: Path) -> None:
    """Bring a packed transcript back to be appended to; one that is not packed is left alone.

    Raises OSError.
    """
    packed = packed_path(path)
    if path.exists() or not packed.exists():
        return
    with gzip.open(packed, "rb") as squeezed, _Beside(path) as beside:
        shutil.copyfileobj(squeezed, beside.file, 2**20)
        beside.take_its_place(like=packed)
    packed.unlink()


def packed_path(path: Path) -> Path:
    """Return where a transcript is once it is packed."""
    return path.with_name(path.name + PACKED_SUFFIX)


class _Beside:
    """A new file beside its place, which it takes when it is whole and on disk."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._path = place.with_name(f".{place.name}.new")

    def __enter__(self) -> _Beside:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        _let_group_read(descriptor, self._path.parent)
        self.file = os.fdopen(descriptor, "wb")
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self._path.unlink(missing_ok=True)

    def take_its_place(self, *, like: Path) -> None:
        """Make it durable, give it another file's times, and put it in its place."""
        self.file.flush()
        os.fsync(self.file.fileno())
        times = like.stat()
        os.utime(self._path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self._path.rename(self._place)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        pass
    try:
        with gzip.open(packed_path(path), "rb") as squeezed:
            return squeezed.read()
    except FileNotFoundError:
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything or nothing: what went in before the disk was full is taken back."""
    size = os.fstat(descriptor).st_size
    remaining = memoryview(data)
    try:
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _make_directory(path: Path) -> None:
    """Make the transcripts' directory, for its user alone and the group of a shared data directory."""
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.chmod(inner_mode(path.parent.stat().st_mode))


def _let_group_read(descriptor: int, directory: Path) -> None:
    wanted = read_only_mode(directory.stat().st_mode)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != wanted:
        os.fchmod(descriptor, wanted)
