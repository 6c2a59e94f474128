"""What the past says: files that changes with a like message touched, and files touched of late."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from domain.model import PastChange
from domain.text import plain
from harness.localize.corpus import Corpus
from harness.localize.query import Query
from harness.localize.text_scores import Scores
from harness.localize.words import WORD, is_common, parts_of

MOST_CHANGES = 400
LIKE_CHANGES = 15
"""Past changes whose messages are nearest to the issue; the others say nothing."""

LONGEST_MESSAGE = 2000
FADING = 30.0
"""Changes after which a file counts for a third of one that was touched last."""


def touched_before(corpus: Corpus, query: Query, past: Sequence[PastChange]) -> tuple[Scores, Scores]:
    """Score the product's files by like changes, and by how lately they were touched: 1 down to 0."""
    numbers = {file.path: number for number, file in enumerate(corpus.files) if not file.aside}
    changes = past[:MOST_CHANGES]
    words = [_words(change.message) for change in changes]
    frequency = Counter(word for found in words for word in found)
    recent: Scores = {}
    nearness: list[tuple[float, int, list[int]]] = []
    for age, (change, said) in enumerate(zip(changes, words, strict=True)):
        files = sorted({numbers[path] for path in change.paths if path in numbers})
        for file in files:
            recent.setdefault(file, math.exp(-age / FADING))
        shared = sum(math.log(1 + len(changes) / frequency[word]) for word in sorted(said & query.terms))
        if shared and files:
            nearness.append((-shared / math.sqrt(3 + len(said)), age, files))
    like: Scores = defaultdict(float)
    for near, _, files in sorted(nearness)[:LIKE_CHANGES]:
        for file in files:
            like[file] -= near / math.sqrt(len(files))
    return like, recent


def _words(message: str) -> set[str]:
    raw = WORD.findall(plain(message[:LONGEST_MESSAGE]))
    return {part for word in raw for part in parts_of(word) if not is_common(part)}
