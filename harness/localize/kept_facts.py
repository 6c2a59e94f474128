"""Facts of files that were read before, by what is in them: one SQLite file, which may be lost any time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from harness.localize.facts import FORM, KeptFacts

LARGEST = 2 * 2**30
"""Bytes of the file; beyond, what was not used for longest is let go."""

_AT_A_TIME = 400
_SCHEMA = """
create table if not exists facts (
    key text primary key, outline text not null, terms text not null, places text not null,
    used integer not null
) strict, without rowid;
"""
_log = structlog.get_logger(__name__)


class FactsKeeper:
    """Keeps the facts of files by key, for all repositories and commits. A damaged file is begun anew."""

    def __init__(self, file: Path, largest: int = LARGEST) -> None:
        self._file = file.with_name(f"{file.stem}-{FORM}{file.suffix}")
        self._largest = largest

    def get(self, keys: Sequence[str]) -> Iterator[tuple[str, KeptFacts]]:
        """Yield what is kept of the given keys, in any order."""
        with self._open() as base:
            if base is None:
                return
            for start in range(0, len(keys), _AT_A_TIME):
                some = keys[start : start + _AT_A_TIME]
                marks = ",".join("?" * len(some))
                rows = base.execute(
                    f"select key, outline, terms, places from facts where key in ({marks})", some
                )
                for key, outline, terms, places in rows.fetchall():
                    yield key, KeptFacts(outline, terms, places)

    def put(self, new: Mapping[str, KeptFacts]) -> None:
        """Keep new facts; a file that grew too large loses what was put first."""
        with self._open() as base:
            if base is None:
                return
            (last,) = base.execute("select coalesce(max(used), 0) from facts").fetchone()
            rows = [(key, f.outline, f.terms, f.places, last + 1) for key, f in new.items()]
            base.executemany("insert or replace into facts values (?, ?, ?, ?, ?)", rows)
            base.commit()
            self._shrink(base)

    def _shrink(self, base: sqlite3.Connection) -> None:
        if self._file.stat().st_size <= self._largest:
            return
        (middle,) = base.execute(
            "select used from facts order by used limit 1 offset (select count(*) / 2 from facts)"
        ).fetchone()
        base.execute("delete from facts where used <= ?", (middle,))
        base.commit()
        base.execute("vacuum")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """Yield the open file, None where it cannot be used."""
        base: sqlite3.Connection | None = None
        begun = False
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            base = sqlite3.connect(self._file, timeout=5)
            base.execute("pragma journal_mode = wal")
            base.execute("pragma synchronous = off")
            base.executescript(_SCHEMA)
            begun = True
            yield base
        except (sqlite3.Error, OSError) as error:
            _log.warning("the localizer's index is not usable", file=str(self._file), error=str(error))
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                _remove(self._file)
            if not begun:
                yield None
        finally:
            if base is not None:
                base.close()


def _remove(file: Path) -> None:
    for each in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
        each.unlink(missing_ok=True)
