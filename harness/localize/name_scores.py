"""Names of the issue that the tree defines, assigns, calls or prints."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.localize.corpus import Corpus
from harness.localize.facts import ARGUMENT, CALLED, VARIABLE
from harness.localize.literals import LITERAL, RUN
from harness.localize.query import REGION_WEIGHTS, Query, damped
from harness.localize.regions import Region
from harness.localize.text_scores import Scores
from harness.localize.words import is_common, name_parts

MOST_DEFINERS = 25
"""A name that more files define says nothing of where to look."""


@dataclass(slots=True)
class Names:
    """Which parts of the product define a name, and how rare the words are that names are made of."""

    definers: Mapping[str, list[int]]
    rarity: Mapping[str, float]
    words: Mapping[int, tuple[tuple[str, ...], tuple[str, ...]]]

    @classmethod
    def of(cls, corpus: Corpus) -> Names:
        """Read a corpus' definitions."""
        definers: dict[str, list[int]] = defaultdict(list)
        words: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        frequency: Counter[str] = Counter()
        for number, part in enumerate(corpus.parts):
            if not part.name or corpus.is_aside(number):
                continue
            definers[part.name].append(number)
            own = name_parts(part.name)
            if own and not part.name.startswith("__"):
                words[number] = own, name_parts(part.qualified)
                frequency.update(words[number][1])
        rarity = {word: math.log(1 + len(words) / count) for word, count in frequency.items()}
        return cls(definers, rarity, words)

    def files(self, corpus: Corpus, name: str) -> list[int]:
        """Return the files that define a name, each once."""
        return list(dict.fromkeys(corpus.file_of[part] for part in self.definers.get(name, ())))


@dataclass(frozen=True, slots=True)
class Pair:
    """The same evidence for files and for parts."""

    files: Scores
    parts: Scores


def wanted_names(query: Query) -> frozenset[str]:
    """Return the terms, with their prefixes, by which names and phrases of an issue are looked up."""
    names = query.identifiers
    return frozenset(
        [
            *(CALLED + name for name in names),
            *(VARIABLE + name for name in names),
            *(ARGUMENT + name for name in (*names, *query.keywords)),
            *(LITERAL + text for text in (*query.literals, *names)),
            *(RUN + run for run in query.runs),
        ]
    )


def defined(corpus: Corpus, query: Query, names: Names) -> Pair:
    """Score what defines a name that the issue uses; a name of many definers counts for little."""
    weights = {
        name: min(weight, 3.0) ** 0.5 * (0.3 if name in query.made_here else 1.0)
        for name, weight in query.identifiers.items()
    }
    return _shared(corpus, weights, lambda name: names.definers.get(name, []), power=0.7)


def by_term(corpus: Corpus, weights: Mapping[str, float], prefix: str, *, power: float, most: int) -> Pair:
    """Score where terms with a prefix occur, shared among all the files that have them."""
    return _shared(corpus, weights, lambda name: corpus.places(prefix + name), power=power, most=most)


def _shared(
    corpus: Corpus,
    weights: Mapping[str, float],
    places: Callable[[str], list[int]],
    *,
    power: float,
    most: int = MOST_DEFINERS,
) -> Pair:
    files: Scores = defaultdict(float)
    parts: Scores = defaultdict(float)
    for name in sorted(weights):
        found = places(name)
        holders = {corpus.file_of[part] for part in found}
        if 0 < len(holders) <= most:
            share = weights[name] / len(holders) ** power
            for file in holders:
                files[file] += share
            for part in found:
                parts[part] += share
    return Pair(files, parts)


def defined_in_title(corpus: Corpus, query: Query, names: Names) -> Pair:
    """Score what defines any word of the title as it stands there, be it code or not."""
    weights = {name: 1.0 for name in query.title_words if len(name) > 2 and not is_common(name.lower())}
    return _shared(corpus, weights, lambda name: names.definers.get(name, []), power=0.7, most=15)


def name_words(
    query: Query,
    names: Names,
    regions: tuple[Region, ...] = (Region.TITLE, Region.LEAD, Region.PROSE, Region.CODE),
) -> Scores:
    """Score definitions by how much of their names the issue says in words, in the given regions."""
    weights: dict[str, float] = {}
    for word in query.terms:
        said = sum(REGION_WEIGHTS[region] * query.words[region][word] for region in regions)
        if said:
            weights[word] = min(damped(said), 3.0)
    near = query.prose_words
    scores: Scores = {}
    for part, (own, qualified) in names.words.items():
        said_of_own = [word for word in own if word in weights]
        if not said_of_own:
            continue
        rarity = names.rarity
        total = sum(rarity[word] for word in own)
        covered = sum(rarity[word] for word in said_of_own)
        score = sum(rarity[word] * weights[word] for word in said_of_own)
        score += sum(0.5 * rarity[word] for word in qualified if word not in own and word in near)
        scores[part] = score * covered / total
    return scores


def qualified(corpus: Corpus, query: Query) -> Pair:
    """Score methods whose name and whose class both occur; more so where they stand together."""
    together: set[tuple[str, str]] = set()
    for dotted in query.dotted:
        words = dotted.split(".")
        together.update(itertools.pairwise(words))
    files: Scores = {}
    parts: Scores = {}
    for number, part in enumerate(corpus.parts):
        owner, _, name = part.qualified.rpartition(".")
        if not owner or corpus.is_aside(number):
            continue
        owner = owner.rsplit(".", 1)[-1]
        if name in query.identifiers and owner in query.identifiers:
            parts[number] = 2.0 if (owner, name) in together else 1.0
            file = corpus.file_of[number]
            files[file] = max(files.get(file, 0.0), parts[number])
    return Pair(files, parts)
