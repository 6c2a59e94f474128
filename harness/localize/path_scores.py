"""Paths: words of the issue in them, files that it names, and the frames of its tracebacks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from posixpath import splitext

from harness.localize.corpus import Corpus
from harness.localize.facts import Kind
from harness.localize.name_scores import Pair
from harness.localize.query import Query, damped
from harness.localize.regions import Region
from harness.localize.text_scores import Scores
from harness.localize.traces import Frame
from harness.localize.words import WORD, is_common, parts_of

_WEIGHTS = {Region.TITLE: 3.0, Region.LEAD: 2.0, Region.PROSE: 0.6, Region.CODE: 0.5}
VERSION = "v:__version__"
MOST_BUNDLED = 4
NEARLY_ALL = 0.9
_VENDORED_SCRIPT = re.compile(
    r"[-.]\d+\.\d+(?:\.\d+)?(?:[.-]min)?\.[cm]?js$|[.-]min\.[cm]?js$"
    r"|(?:^|/)(?:jquery|underscore|bootstrap)\b[^/]*\.js$"
)
_INDEX_FILES = frozenset({"__init__", "index", "mod", "lib", "main"})


@dataclass(slots=True)
class Paths:
    """The words of every path, how many files have each, and the files by name and by stem."""

    words: list[dict[str, float]]
    frequency: Counter[str]
    by_name: dict[str, list[int]]
    stems: list[str]

    @classmethod
    def of(cls, corpus: Corpus) -> Paths:
        """Read a corpus' paths."""
        by_name: dict[str, list[int]] = defaultdict(list)
        words: list[dict[str, float]] = []
        stems: list[str] = []
        for number, file in enumerate(corpus.files):
            *folders, name = file.path.split("/")
            stem = splitext(name)[0]
            by_name[name].append(number)
            by_name[stem].append(number)
            stems.append((folders[-1] if folders else "") if stem in _INDEX_FILES else stem)
            words.append(_path_words(folders, stem))
        return cls(words, Counter(word for found in words for word in found), by_name, stems)

    def rarity(self, word: str) -> float:
        """Return how rare a word is among all paths."""
        return math.log(1 + len(self.words) / max(1, self.frequency[word]))

    def place(self, corpus: Corpus, named: str) -> tuple[list[int], int]:
        """Return the files that agree with a path in most segments from its end, and in how many."""
        matches = [
            (number, overlap(named, corpus.files[number].path))
            for number in self.by_name.get(named.rsplit("/", 1)[-1], ())
        ]
        deepest = max((depth for _, depth in matches), default=0)
        return [number for number, depth in matches if depth == deepest], deepest


def _path_words(folders: Sequence[str], stem: str) -> dict[str, float]:
    """Return the stemmed words of a path; those of its last segment count half as much again."""
    words: dict[str, float] = {}
    for segment, factor in [*((part, 1.0) for part in folders), (stem, 1.5)]:
        for raw in WORD.findall(segment):
            for part in parts_of(raw):
                if not is_common(part):
                    words[part] = max(words.get(part, 0.0), factor)
    return words


def overlap(named: str, path: str) -> int:
    """Return how many segments a named path and a real one share from the end."""
    one = named.split("/")
    other = path.split("/")
    if "." not in one[-1]:
        other = [*other[:-1], splitext(other[-1])[0]]
    depth = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        if left != right:
            break
        depth += 1
    return depth


def vendored(corpus: Corpus) -> Scores:
    """Mark other people's code: a package with a version of its own within another, a script with one.

    Many such packages side by side are parts of the product with releases of their own, and so is a package
    that holds nearly all of the product.
    """
    packages = {_folder(file.path) for file in corpus.files if file.path.endswith("/__init__.py")}
    bundled: dict[str, set[str]] = defaultdict(set)
    for part in corpus.places(VERSION):
        path = corpus.files[corpus.file_of[part]].path
        folder, around = _folder(path), _folder(path).rpartition("/")[0]
        if path.endswith("/__init__.py") and around in packages:
            bundled[around].add(folder + "/")
    foreign = tuple(
        sorted(each for found in bundled.values() if len(found) <= MOST_BUNDLED for each in found)
    )
    product = [number for number, file in enumerate(corpus.files) if not file.aside]
    inner = {number for number in product if corpus.files[number].path.startswith(foreign)}
    scripts = {number for number in product if _VENDORED_SCRIPT.search(corpus.files[number].path)}
    if len(inner) > NEARLY_ALL * len(product):
        inner = set()
    return dict.fromkeys(sorted(inner | scripts), 1.0)


def _folder(path: str) -> str:
    return path.rsplit("/", 1)[0]


def language_shares(corpus: Corpus) -> Scores:
    """Score files by the share of the product's files that end as they do: what is rare is seldom meant."""
    suffixes = [splitext(file.path)[1] for file in corpus.files]
    count = Counter(suffix for suffix, file in zip(suffixes, corpus.files, strict=True) if not file.aside)
    total = max(1, sum(count.values()))
    return {number: count[suffix] / total for number, suffix in enumerate(suffixes)}


def words_in_paths(query: Query, paths: Paths) -> Scores:
    """Score files by the issue's words in their paths, rare ones more."""
    weights = {word: sum(w * query.words[r][word] for r, w in _WEIGHTS.items()) for word in query.terms}
    weights = {word: min(damped(weight), 3.0) for word, weight in weights.items() if weight}
    scores: Scores = {}
    for number, words in enumerate(paths.words):
        score = sum(
            weights[word] * factor * paths.rarity(word) for word, factor in words.items() if word in weights
        )
        if score:
            scores[number] = score
    return scores


def whole_stems(query: Query, paths: Paths) -> Scores:
    """Score files all words of whose name the issue says."""
    said = query.prose_words
    scores: Scores = {}
    for number, name in enumerate(paths.stems):
        parts = [part for part in parts_of(name) if not is_common(part)]
        inner = parts[1:] if len(parts) > 1 else parts
        if inner and all(part in said for part in inner):
            scores[number] = min(2.0, paths.rarity(parts[0]) / 3)
    return scores


def named_files(corpus: Corpus, query: Query, paths: Paths) -> Scores:
    """Score files that the issue names; by their last segment alone, for less, shared by all that match."""
    scores: Scores = defaultdict(float)
    for named in sorted(query.paths):
        matching, depth = paths.place(corpus, named)
        if depth > 1 or "/" not in named:
            share = min(query.paths[named], 2.0) * (1.0 if depth > 1 else 0.6) / max(1, len(matching))
            for file in matching:
                scores[file] += share
    return scores


def framed(corpus: Corpus, frames: tuple[Frame, ...], paths: Paths) -> Pair:
    """Score what a traceback runs through: where it went wrong counts 1, each frame further out less."""
    files: Scores = {}
    parts: Scores = {}
    weight = 1.0
    for frame in frames:
        matching, depth = paths.place(corpus, frame.path)
        chosen = [file for file in matching if not corpus.files[file].aside]
        if not chosen or len(chosen) > 2 or not _is_sure(frame, corpus.files[chosen[0]].path, depth):
            continue
        for file in chosen:
            files[file] = max(files.get(file, 0.0), weight)
            if (part := _part_at(corpus, file, frame)) is not None:
                parts[part] = max(parts.get(part, 0.0), weight)
        weight *= 0.7
    return Pair(files, parts)


def _is_sure(frame: Frame, path: str, depth: int) -> bool:
    return depth > 1 or "/" not in path or "/" not in frame.path


def _part_at(corpus: Corpus, file: int, frame: Frame) -> int | None:
    around: int | None = None
    for number in corpus.parts_of(file):
        part = corpus.parts[number]
        if frame.function and part.name == frame.function:
            return number
        if part.kind is Kind.FUNCTION and part.first_line <= frame.line <= part.last_line:
            around = number
    return around
