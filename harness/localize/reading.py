"""Reading a tree's source files within bounds, and each one's facts: as kept, or made now."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import splitext

import structlog

from harness.localize.aside import is_aside
from harness.localize.facts import FileFacts, KeptFacts, Kind, Part, word_counts
from harness.localize.kept_facts import FactsKeeper
from harness.localize.other_source import other_facts, other_imports
from harness.localize.python_source import python_facts, python_imports
from harness.syntax.parsing import as_utf8
from harness.testing.files import read_at, read_file, walk
from harness.testing.paths import is_source

MAX_FILES = 40_000
MAX_FILE_BYTES = 2**20
MAX_TOTAL_BYTES = 256 * 2**20
LONGEST_LINE = 5_000
"""Characters of a line from which on a file is taken for made by a tool: minified, or data."""
MOST_SECONDS = 60.0
"""After so long, the rest of a tree is searched by its paths alone."""

_PYTHON = (".py", ".pyi", ".pyx")
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """A source file of a tree: its path, and the key of its facts."""

    path: str
    key: str
    is_aside: bool
    size: int


@dataclass(slots=True)
class Shelf:
    """Where a tree's facts come from: made before, or made now and kept."""

    keeper: FactsKeeper | None
    seconds: float = MOST_SECONDS
    _new: dict[str, KeptFacts] = field(default_factory=dict)

    def read(self, tree: Path) -> Iterator[tuple[Source, KeptFacts]]:
        """Yield every source file of a tree with its facts, in no order that means anything."""
        end = time.monotonic() + self.seconds
        sources: dict[str, list[Source]] = {}
        for source in _sources(tree):
            sources.setdefault(source.key, []).append(source)
        known = set()
        for key, kept in self.keeper.get(sorted(sources)) if self.keeper else ():
            known.add(key)
            yield from ((source, kept) for source in sources[key])
        for key in sorted(set(sources) - known):
            if time.monotonic() > end:
                _log.warning("reading a tree takes too long", files=len(sources), known=len(known))
                break
            kept = _made(tree, sources[key][0])
            if self.keeper is not None:
                self._new[key] = kept
            if len(self._new) >= 500:
                self._flush()
            yield from ((source, kept) for source in sources[key])
        self._flush()

    def _flush(self) -> None:
        if self.keeper is not None and self._new:
            self.keeper.put(self._new)
            self._new = {}


def _sources(tree: Path) -> Iterator[Source]:
    total = 0
    for path, directory, name in walk(tree, max_files=MAX_FILES):
        if not is_source(name) or not path.isprintable():  # such a name could only mislead a reader
            continue
        data = read_at(directory, name, MAX_FILE_BYTES + 1)
        if data is None or len(data) > MAX_FILE_BYTES or b"\0" in data[:4096]:
            continue
        total += len(data)
        if total > MAX_TOTAL_BYTES:
            _log.warning("a tree is too large to be read whole", bytes=total)
            return
        aside = is_aside(path)
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        suffix = splitext(name)[1].lower()
        yield Source(path, f"{blob}{suffix}{'-aside' if aside else ''}", aside, len(data))


def _made(tree: Path, source: Source) -> KeptFacts:
    data = read_source(tree, source.path)
    return KeptFacts.of(facts_of(source.path, data, aside=source.is_aside))


def read_source(tree: Path, path: str) -> str:
    """Return a source file's text, with line feeds; "" if it is not there."""
    return as_utf8(read_file(tree, path, MAX_FILE_BYTES) or b"").decode("utf-8", "replace")


def facts_of(path: str, text: str, *, aside: bool = False) -> FileFacts:
    """Return a file's facts; of one that stands aside only its words as a whole and its imports."""
    is_python = splitext(path)[1].lower() in _PYTHON
    if aside or any(len(line) > LONGEST_LINE for line in text.split("\n")):
        counts, length = word_counts(text[:MAX_FILE_BYTES])
        part = Part("", "", Kind.MODULE, 1, text.count("\n") + 1, length)
        imports = python_imports(text) if is_python else other_imports(text)
        return FileFacts([part], imports, {}, [counts])
    facts = python_facts(text) if is_python else None
    return facts if facts is not None else other_facts(path, text)
