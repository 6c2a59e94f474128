"""How well a definition matches by all its fields at once: its text, its name, its class and its path."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from harness.localize.corpus import Corpus
from harness.localize.name_scores import Names
from harness.localize.path_scores import Paths
from harness.localize.query import Query
from harness.localize.text_scores import Scores

IN_NAME = 4.0
IN_CLASS = 1.5
IN_PATH = 1.0
"""How many times in the text a word counts that stands in another field."""

_SATURATION = 1.5
_LENGTH = 0.6


def score_fields(corpus: Corpus, query: Query, names: Names, paths: Paths) -> Scores:
    """Score the product's parts by BM25 over weighted fields: one word counts once, wherever it stands."""
    named = _named(corpus, names, paths, query.terms)
    lengths = [part.length for number, part in enumerate(corpus.parts) if not corpus.is_aside(number)]
    total = max(1, len(lengths))
    average = max(1.0, sum(lengths) / total)
    scores: Scores = defaultdict(float)
    for term in sorted(query.terms):
        counts = {
            part: times / (1 - _LENGTH + _LENGTH * corpus.parts[part].length / average)
            for part, times in corpus.hits.get(term, ())
            if not corpus.is_aside(part)
        }
        for part, more in named.get(term, {}).items():
            counts[part] = counts.get(part, 0.0) + more
        rarity = math.log(1 + (total - len(counts) + 0.5) / (len(counts) + 0.5))
        weight = query.weight(term) * rarity * (_SATURATION + 1)
        for part, count in counts.items():
            scores[part] += weight * count / (count + _SATURATION)
    return scores


def _named(
    corpus: Corpus, names: Names, paths: Paths, terms: frozenset[str]
) -> Mapping[str, dict[int, float]]:
    """Return by term what it counts for in the names, classes and paths of parts."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for number, file in enumerate(corpus.files):
        if file.aside:
            continue
        in_path = {word: IN_PATH * factor for word, factor in paths.words[number].items() if word in terms}
        for part in corpus.parts_of(number):
            for word, more in in_path.items():
                found[word][part] = more
            own, qualified = names.words.get(part, ((), ()))
            for word in terms.intersection(qualified):
                found[word][part] = found[word].get(part, 0.0) + (IN_NAME if word in own else IN_CLASS)
    return found
