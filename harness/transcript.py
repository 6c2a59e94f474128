"""The transcript of an attempt: JSON lines, appended and flushed to disk, never rewritten."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from domain.text import Redactor


class Transcript:
    """One file per attempt. A line cut short by a crash is ignored when it is read back."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self._path = path
        self._redact = redact

    def append(self, record: Mapping[str, object]) -> None:
        """Write one record; it is on disk when this returns."""
        line = self._redact(json.dumps(record, ensure_ascii=False, default=str))
        data = line.encode("utf-8", "backslashreplace") + b"\n"
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            if self._ends_mid_line():
                os.write(descriptor, b"\n")
            os.write(descriptor, data)
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[dict[str, object]]:
        """Return the whole records, oldest first."""
        try:
            lines = self._path.read_bytes().split(b"\n")
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

    def steps(self) -> list[dict[str, object]]:
        """Return the records of finished steps, oldest first."""
        return [record for record in self.read() if "step" in record]

    def _ends_mid_line(self) -> bool:
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
