"""A repository as the ranking sees it: how often each query word occurs in every file and definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from harness.localize.definitions import Definition, outline
from harness.localize.words import WORD, parts_of
from harness.testing.files import read_at, walk
from harness.testing.paths import in_test_directory, is_source, is_test_file

MAX_FILES = 30_000
MAX_FILE_BYTES = 2**20
MAX_TOTAL_BYTES = 96 * 2**20
_ASIDE = frozenset(
    {
        *(
            "doc",
            "docs",
            "example",
            "examples",
            "sample",
            "samples",
            "benchmark",
            "benchmarks",
            "demo",
            "demos",
        ),
        *(
            "scripts",
            "tools",
            "ci",
            "locale",
            "migrations_test",
            "fixtures",
            "asv_bench",
            "tutorial",
            "tutorials",
        ),
    }
)


@dataclass(slots=True)
class Chunk:
    """A definition with the counts of the query's words in it; `length` in words."""

    definition: Definition
    counts: Mapping[str, int]
    length: int
    score: float = 0.0


@dataclass(slots=True)
class SourceFile:
    """A file with the counts of the query's words. `aside` marks tests, docs, examples and the like."""

    path: str
    counts: Mapping[str, int]
    length: int
    chunks: list[Chunk]
    aside: bool
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def defined(self) -> set[str]:
        """Names that the file defines."""
        return {chunk.definition.name for chunk in self.chunks if chunk.definition.name}


@dataclass(slots=True)
class Corpus:
    """All source files of a tree, in order of their paths."""

    files: list[SourceFile]


def read_corpus(tree: Path, words: Mapping[str, float]) -> Corpus:
    """Read a tree once, counting only the given words. Binary, vendored and large files are left out."""
    counter = _WordCounter(words)
    files: list[SourceFile] = []
    total = 0
    for path, directory, name in walk(tree, max_files=MAX_FILES):
        if not is_source(name):
            continue
        data = read_at(directory, name, MAX_FILE_BYTES + 1)
        if data is None or len(data) > MAX_FILE_BYTES or b"\0" in data[:4096]:
            continue
        total += len(data)
        if total > MAX_TOTAL_BYTES:
            break
        files.append(_source_file(path, data.decode("utf-8", "replace"), counter))
    return Corpus(files)


def _source_file(path: str, text: str, counter: _WordCounter) -> SourceFile:
    chunks = []
    counts: Counter[str] = Counter()
    length = 0
    for definition in outline(path, text):
        found, size = counter.count(text[definition.start : definition.end])
        chunks.append(Chunk(definition, found, size))
        counts.update(found)
        length += size
    return SourceFile(path, counts, length, chunks, is_aside(path))


def is_aside(path: str) -> bool:
    """Tell whether fixes rarely go to a path: tests, documentation, examples, benchmarks."""
    folders = PurePosixPath(path).parts[:-1]
    name = PurePosixPath(path).name
    if is_test_file(path) or name in {"conftest.py", "setup.py"} or in_test_directory(path):
        # A package called `testing` is often a product of its own, with tests elsewhere.
        return not (folders and folders[-1] == "testing" and not is_test_file(path))
    return any(part.lower() in _ASIDE for part in folders)


class _WordCounter:
    """Counts query words in text; what a raw word stands for is worked out once."""

    def __init__(self, words: Mapping[str, float]) -> None:
        self._words = frozenset(words)
        self._known: dict[str, tuple[str, ...]] = {}

    def count(self, text: str) -> tuple[dict[str, int], int]:
        """Return the counts of query words, and how many words there are in all."""
        raw = Counter(WORD.findall(text))
        found: dict[str, int] = {}
        known = self._known
        for word, times in raw.items():
            meant = known.get(word)
            if meant is None:
                meant = known[word] = tuple(part for part in parts_of(word) if part in self._words)
            for part in meant:
                found[part] = found.get(part, 0) + times
        return found, raw.total()
