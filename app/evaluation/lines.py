"""JSON lines that are appended one by one, and read back whole after a crash: what makes runs resumable."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


def append(file: Path, record: Mapping[str, object]) -> None:
    """Add a record; it is on disk when this returns. A line that a crash cut short is ended first."""
    with file.open("a+b") as opened:
        opened.seek(0, os.SEEK_END)
        if opened.tell():
            opened.seek(-1, os.SEEK_END)
            if opened.read(1) != b"\n":
                opened.write(b"\n")
        opened.write(json.dumps(record).encode() + b"\n")
        opened.flush()
        os.fsync(opened.fileno())


def read(file: Path) -> list[dict[str, object]]:
    """Return the whole records, oldest first; nothing where there is no file. Raises OSError."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    records = []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records
