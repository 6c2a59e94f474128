"""A tree as a query sees it: every file and part, and where the query's terms occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.localize.facts import Import, Part
from harness.localize.reading import Shelf


@dataclass(slots=True)
class SourceFile:
    """A file: its parts are `parts[first : first + count]` of the corpus. `aside`: tests, docs and such."""

    path: str
    aside: bool
    first: int
    count: int
    length: int
    size: int
    imports: list[Import]
    bases: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Corpus:
    """All source files of a tree in order of their paths; `hits` has (part, count) by term."""

    files: list[SourceFile] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    file_of: list[int] = field(default_factory=list)
    hits: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def is_aside(self, part: int) -> bool:
        """Tell whether a part's file stands aside."""
        return self.files[self.file_of[part]].aside

    def parts_of(self, file: int) -> range:
        """Return the numbers of a file's parts."""
        entry = self.files[file]
        return range(entry.first, entry.first + entry.count)

    def places(self, term: str) -> list[int]:
        """Return the parts of the product itself in which a term occurs."""
        return [part for part, _ in self.hits.get(term, ()) if not self.is_aside(part)]


def read_corpus(tree: Path, wanted: frozenset[str], shelf: Shelf) -> Corpus:
    """Read a tree; of all terms, only where the wanted ones occur is held in memory."""
    read = [(source, kept.facts(), kept.hits(wanted)) for source, kept in shelf.read(tree)]
    read.sort(key=lambda item: item[0].path)
    corpus = Corpus()
    for number, (source, facts, hits) in enumerate(read):
        first = len(corpus.parts)
        length = sum(part.length for part in facts.parts)
        corpus.files.append(
            SourceFile(
                source.path,
                source.is_aside,
                first,
                len(facts.parts),
                length,
                source.size,
                facts.imports,
                facts.bases,
            )
        )
        corpus.parts += facts.parts
        corpus.file_of += [number] * len(facts.parts)
        for term, places in hits:
            found = corpus.hits.setdefault(term, [])
            found.extend((first + part, times) for part, times in zip(places[::2], places[1::2], strict=True))
    return corpus
