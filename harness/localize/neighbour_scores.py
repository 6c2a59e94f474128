"""What stands near the evidence: tests that match, importers and imported, base classes, callees."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath

from harness.localize.aside import is_test
from harness.localize.corpus import Corpus
from harness.localize.modules import Modules
from harness.localize.name_scores import Names, Pair
from harness.localize.path_scores import Paths
from harness.localize.query import Query
from harness.localize.text_scores import Scores
from harness.localize.words import parts_of

BEST_TESTS = 10
BEST_FILES = 10
BEST_PARTS = 15
_FEW = 4
"""A name that more files define does not tell which is called."""


def tested(
    corpus: Corpus,
    text: Mapping[int, float],
    issue_names: Mapping[int, float],
    modules: Modules,
    paths: Paths,
) -> tuple[Scores, Scores]:
    """Score files by the tests that match best: what those import, and whom they are named after."""
    tests = {
        file: score
        for file, score in text.items()
        if corpus.files[file].aside and is_test(corpus.files[file].path)
    }
    if tests:
        highest = max(tests.values())
        tests |= {file: highest for file in issue_names if file in tests}
    best = sorted(tests, key=lambda file: (-tests[file], corpus.files[file].path))[:BEST_TESTS]
    imported: Scores = defaultdict(float)
    named: Scores = defaultdict(float)
    for test in best:
        weight = (tests[test] / tests[best[0]]) ** 2
        for file in sorted(modules.imported[test]):
            if not corpus.files[file].aside:
                imported[file] += weight / math.log(2 + len(modules.importers[file]))
        words = _subject(corpus.files[test].path)
        for file, of_path in enumerate(paths.words):
            if not corpus.files[file].aside:
                shared = sum(paths.rarity(word) for word in sorted(words & of_path.keys()))
                if shared:
                    named[file] += weight * shared
    return imported, named


def _subject(path: str) -> set[str]:
    """Return the words of a test's path, without those that make it one."""
    pure = PurePosixPath(path)
    words = set(parts_of(pure.stem.replace("test", "").replace("spec", "").strip("_-.")))
    for folder in pure.parts[:-1]:
        words.update(parts_of(folder))
    return words - {"test", "testing", "spec", "src"}


def importing(corpus: Corpus, base: Mapping[int, float], modules: Modules) -> Scores:
    """Score what the best files import, less where all import it."""
    best = sorted(base, key=lambda file: (-base[file], corpus.files[file].path))[:BEST_FILES]
    scores: Scores = defaultdict(float)
    for rank, file in enumerate(best):
        for other in sorted(modules.imported[file]):
            if not corpus.files[other].aside:
                scores[other] += base[file] / (1 + rank) / math.log(2 + len(modules.importers[other]))
    return scores


def importers(corpus: Corpus, modules: Modules) -> Scores:
    """Score files by how many of the product's own files import them."""
    return {
        number: math.log(1 + sum(1 for each in found if not corpus.files[each].aside)) / 3
        for number, found in enumerate(modules.importers)
    }


def inherited(corpus: Corpus, query: Query, names: Names) -> Scores:
    """Score the files that define what a class named in the issue inherits from."""
    scores: Scores = defaultdict(float)
    for number, file in enumerate(corpus.files):
        if file.aside:
            continue
        for qualified, bases in file.bases.items():
            if qualified.rsplit(".", 1)[-1] not in query.identifiers:
                continue
            for base in bases:
                holders = names.files(corpus, base)
                if 0 < len(holders) < _FEW:
                    for holder in holders:
                        if holder != number:
                            scores[holder] += 1 / len(holders)
    return scores


def imported_by_issue(corpus: Corpus, query: Query, modules: Modules) -> Pair:
    """Score what the code in an issue imports, or calls by its dotted name."""
    files: Scores = defaultdict(float)
    parts: Scores = defaultdict(float)
    for module, name in sorted(query.imports):
        _credit(corpus, modules.resolve(module, name), "", files, parts)
    for dotted in sorted(query.dotted):
        words = dotted.split(".")
        if words[0] in query.aliases:
            words = [*query.aliases[words[0]].split("."), *words[1:]]
        for length in range(len(words) - 1, 0, -1):
            module = ".".join(words[:length])
            if module in modules.by_dotted:
                found = modules.resolve(module, words[length])
                member = words[length + 1] if len(words) > length + 1 else ""
                _credit(corpus, found, member, {}, parts)
                break
    return Pair(files, parts)


def _credit(corpus: Corpus, found: tuple[int, str] | None, member: str, files: Scores, parts: Scores) -> None:
    if found is None or corpus.files[found[0]].aside:
        return
    file, name = found
    files[file] = files.get(file, 0.0) + 1.0
    wanted = f"{name}.{member}" if member else name
    for number in corpus.parts_of(file) if name else ():
        if corpus.parts[number].qualified in {wanted, name}:
            parts[number] = parts.get(number, 0.0) + (
                1.0 if corpus.parts[number].qualified == wanted else 0.3
            )


def spoken_of(corpus: Corpus, query: Query, modules: Modules) -> Pair:
    """Score the definitions that dotted names in title and prose mean, through packages and aliases."""
    files: Scores = defaultdict(float)
    parts: Scores = defaultdict(float)
    for dotted, weight in sorted(query.spoken.items()):
        found = _meant(query, modules, dotted)
        if found is None or corpus.files[found[0]].aside:
            continue
        file, name = found
        defined = [number for number in corpus.parts_of(file) if corpus.parts[number].qualified == name]
        if not name or defined:
            files[file] += min(weight, 2.0)
        for number in defined if name else ():
            parts[number] += min(weight, 2.0)
    return Pair(files, parts)


def _meant(query: Query, modules: Modules, dotted: str) -> tuple[int, str] | None:
    """Return the file and the name in it that a dotted name means, by the longest module it begins with."""
    first, *rest = dotted.split(".")
    words = [*query.aliases.get(first, first).split("."), *rest]
    for length in range(len(words) - 1, 0, -1):
        module = ".".join(words[:length])
        if module in modules.by_dotted:
            return modules.resolve(module, words[length])
    return None
