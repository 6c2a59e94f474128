"""What is known of one source file by itself, wherever it lies: its parts, their terms, its imports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from harness.localize.literals import literal_terms
from harness.localize.patterns import CALL, NO_CALLS
from harness.localize.words import WORD, parts_of

CALLED = "c:"
VARIABLE = "v:"
ARGUMENT = "a:"
"""What a term begins with that is no plain word: see also `literals`."""

FORM = "1"
"""Of what is kept. Whoever changes how files are read changes this."""


class Kind(StrEnum):
    """What a part of a file is."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Part:
    """A function, the header of a class, or what of a file lies outside of both. Lines count from 1.

    `length` counts the words of its own text, without that of parts inside it.
    """

    name: str
    qualified: str
    kind: Kind
    first_line: int
    last_line: int
    length: int


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name. `level` counts the dots before a relative module; -1 stands for a path."""

    module: str
    name: str = ""
    alias: str = ""
    level: int = 0


@dataclass(slots=True)
class FileFacts:
    """A file's parts, what it imports, the classes that its classes inherit from, and every part's terms."""

    parts: list[Part] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    bases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    terms: list[Mapping[str, int]] = field(default_factory=list)

    def add(self, part: tuple[str, str, Kind, int, int], text: str, *named: str) -> None:
        """Add a part with its own text; `named` are further terms, with their prefixes."""
        counts, length = word_counts(text)
        counts.update(CALLED + name for name in set(CALL.findall(text)) - NO_CALLS)
        counts.update(literal_terms(text))
        counts.update(named)
        self.parts.append(Part(*part, length))
        self.terms.append(counts)


def word_counts(text: str) -> tuple[Counter[str], int]:
    """Return how often each stemmed word occurs, and how many words there are."""
    raw = Counter(WORD.findall(text))
    counts: Counter[str] = Counter()
    for word, times in raw.items():
        for part in parts_of(word):
            counts[part] += times
    return counts, raw.total()


@dataclass(frozen=True, slots=True)
class KeptFacts:
    """A file's facts as three texts, so that a query reads what it needs and nothing else.

    `terms` are sorted, one a line; the same line of `places` has part and count, part and count, and so on.
    """

    outline: str
    terms: str
    places: str

    @classmethod
    def of(cls, facts: FileFacts) -> KeptFacts:
        """Return facts in the form in which they are kept."""
        where: dict[str, list[int]] = {}
        for number, counts in enumerate(facts.terms):
            for term, times in counts.items():
                where.setdefault(term, []).extend((number, times))
        terms = sorted(term for term in where if "\n" not in term)
        outline = [
            [[p.name, p.qualified, p.kind.value, p.first_line, p.last_line, p.length] for p in facts.parts],
            [[i.module, i.name, i.alias, i.level] for i in facts.imports],
            {name: list(bases) for name, bases in facts.bases.items()},
        ]
        places = "\n".join(",".join(map(str, where[term])) for term in terms)
        return cls(json.dumps(outline, separators=(",", ":")), "\n".join(terms), places)

    def facts(self) -> FileFacts:
        """Return parts, imports and bases; the terms stay as they are kept. Raises ValueError."""
        parts, imports, bases = cast(
            "tuple[list[list[object]], list[list[object]], object]", json.loads(self.outline)
        )
        return FileFacts(
            parts=[Part(str(n), str(q), Kind(str(k)), *_numbers(rest)) for n, q, k, *rest in parts],
            imports=[Import(str(m), str(n), str(a), *_numbers([v])) for m, n, a, v in imports],
            bases={
                str(name): tuple(map(str, of)) for name, of in cast("dict[str, list[object]]", bases).items()
            },
        )

    def hits(self, wanted: frozenset[str]) -> list[tuple[str, list[int]]]:
        """Return those of the wanted terms that occur, each with parts and counts in turn."""
        terms = self.terms.split("\n")
        found = wanted.intersection(terms)
        if not found:
            return []
        places = self.places.split("\n")
        return [
            (term, list(map(int, places[number].split(","))))
            for number, term in enumerate(terms)
            if term in found
        ]


def _numbers(values: list[object]) -> list[int]:
    return [value for value in values if isinstance(value, int)]
