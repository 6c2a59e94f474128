"""Reads a transcript on from a byte: whole lines only, a bounded piece at a time, packed or not."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

PIECE = 256 * 2**10
"""Bytes that are read at once."""

LONGEST_LINE = 8 * 2**20
"""Bytes. A longer line is passed over: nobody could show it."""

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript; `end` is the byte after it. `record` is None for a line that is no record."""

    end: int
    record: Record | None


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines. `is_last` says that there were no more when it was read."""

    lines: tuple[Line, ...]
    is_last: bool


def transcript_file(directory: Path, attempt_id: int) -> Path:
    """Return where the worker keeps an attempt's transcript, before it is packed."""
    return directory / f"attempt-{attempt_id}.jsonl"


def read_piece(path: Path, start: int) -> Piece:
    """Return lines from byte `start` of the unpacked transcript on; none where there is no such file.

    Raises OSError.
    """
    with _opened(path) as file:
        if file is None:
            return Piece((), is_last=True)
        try:
            file.seek(start)
            return _read(file, start)
        except (EOFError, zlib.error) as error:
            raise OSError(f"transcript {path.name}: cannot be unpacked ({error})") from error


def size_of(path: Path) -> int:
    """Return the bytes that a transcript takes on disk, 0 for none; they change when it is packed."""
    for each in (path, _packed(path)):
        try:
            return each.stat().st_size
        except OSError:
            continue
    return 0


def _read(file: BinaryIO, start: int) -> Piece:
    """Read a piece that ends with a line, longer than usual where a line is."""
    data = b""
    while len(data) < LONGEST_LINE:
        more = file.read(PIECE)
        data += more
        end = data.rfind(b"\n") + 1
        if end or not more:
            return Piece(tuple(_lines(data[:end], start)), is_last=len(more) < PIECE)
    return _past_long_line(file, start + len(data))


def _past_long_line(file: BinaryIO, end: int) -> Piece:
    """Pass over the rest of a line that is too long."""
    while more := file.read(PIECE):
        at = more.find(b"\n")
        if at >= 0:
            return Piece((Line(end + at + 1, None),), is_last=False)
        end += len(more)
    return Piece((), is_last=True)


def _lines(data: bytes, start: int) -> Iterator[Line]:
    end = start
    for line in io.BytesIO(data):
        end += len(line)
        yield Line(end, _record(line))


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | None]:
    """Open a transcript for reading, wherever it is now; None where there is none."""
    for each in (path, _packed(path), path):  # it may be packed, or unpacked, between two looks
        try:
            plain = open(each, "rb", opener=_no_link)  # noqa: SIM115 - closed by the block below
        except FileNotFoundError:
            continue
        with plain:
            if not stat.S_ISREG(os.fstat(plain.fileno()).st_mode):
                break
            if each == path:
                yield plain
            else:
                with gzip.GzipFile(fileobj=plain, mode="rb") as unpacked:
                    yield unpacked  # type: ignore[misc]  # a binary file in all that is asked of it
            return
    yield None


def _no_link(path: str, flags: int) -> int:
    """Open what is no link, without waiting for anybody at its other end."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _packed(path: Path) -> Path:
    return path.with_name(path.name + ".gz")
