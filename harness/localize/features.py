"""All evidence for files and for parts, by name: what the ranking weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.model import PastChange
from harness.localize import (
    field_scores,
    history_scores,
    name_scores,
    neighbour_scores,
    path_scores,
    text_scores,
)
from harness.localize.corpus import Corpus
from harness.localize.facts import ARGUMENT, CALLED, VARIABLE
from harness.localize.literals import LITERAL, RUN
from harness.localize.modules import Modules
from harness.localize.name_scores import Names, Pair
from harness.localize.path_scores import Paths
from harness.localize.query import REGION_WEIGHTS, Query
from harness.localize.regions import Region
from harness.localize.text_scores import Scores, best_part, best_parts


@dataclass(slots=True)
class Features:
    """Scores by feature; what is missing is 0. `files` by the number of a file, `parts` by that of a part.

    Of features that nothing else builds upon only the `wanted` ones are worked out, all for None.
    """

    files: dict[str, Scores] = field(default_factory=dict)
    parts: dict[str, Scores] = field(default_factory=dict)
    wanted: frozenset[str] | None = None

    def wants(self, name: str) -> bool:
        """Tell whether a feature is asked for."""
        return self.wanted is None or name in self.wanted

    def add(self, name: str, pair: Pair) -> None:
        """Add evidence for both."""
        self.files[name] = pair.files
        self.parts[name] = pair.parts


def wanted_terms(query: Query) -> frozenset[str]:
    """Return all terms that a query looks up."""
    return query.terms | name_scores.wanted_names(query) | {path_scores.VERSION}


def collect(
    corpus: Corpus,
    query: Query,
    wanted: frozenset[str] | None = None,
    past: Sequence[PastChange] = (),
) -> Features:
    """Score every file and part by every feature that is wanted; nothing is cut."""
    found = Features(wanted=wanted)
    _add_text(found, corpus, query)
    names = Names.of(corpus)
    _add_names(found, corpus, query, names)
    paths = Paths.of(corpus)
    _add_places(found, corpus, query, paths)
    found.parts["fields"] = field_scores.score_fields(corpus, query, names, paths)
    _add_neighbours(found, corpus, query, names, paths)
    if past:
        found.files["like changes"], found.files["changed of late"] = history_scores.touched_before(
            corpus, query, past
        )
    return found


def _add_text(found: Features, corpus: Corpus, query: Query) -> None:
    regions = [region for region in REGION_WEIGHTS if found.wants(f"{region} text")]
    text = text_scores.score_text(corpus, query, frozenset([Region.TITLE, *regions]))
    found.files["text"] = text.whole
    found.files["words found"] = text.words
    found.files["definitions"] = best_parts(corpus, text.part)
    found.files["long definitions"] = best_parts(corpus, text.long_part)
    found.parts["text"] = text.part
    for region, scores in text.by_region.items():
        found.files[f"{region} text"] = best_parts(corpus, scores)
        found.parts[f"{region} text"] = scores
    found.files["title first"] = text_scores.by_place(corpus, found.files[f"{Region.TITLE} text"])
    found.files["title covered"] = best_part(corpus, text.title_cover)
    found.parts["title covered"] = text.title_cover


def _add_names(found: Features, corpus: Corpus, query: Query, names: Names) -> None:
    words = name_scores.name_words(query, names)
    found.add("name words", Pair(best_parts(corpus, words), words))
    found.add("defined names", name_scores.defined(corpus, query, names))
    found.add("qualified names", name_scores.qualified(corpus, query))
    flags = {**query.flags, **{f[2:].replace("-", "_"): w / 2 for f, w in query.flags.items()}}
    own = {name: 1.0 for name in query.identifiers if name not in query.made_here}
    arguments = {**dict.fromkeys(own, 0.7), **dict.fromkeys(query.keywords, 1.0)}
    literals = {text: min(weight, 2.0) for text, weight in query.literals.items()}
    runs = dict.fromkeys(query.runs, 1.0)
    for name, terms, prefix, power, most in (
        ("flags", flags, LITERAL, 1.0, 8),
        ("messages", runs, RUN, 1.0, 6),
        ("calls", own, CALLED, 0.7, 40),
        ("variables", own, VARIABLE, 0.7, 15),
        ("arguments", arguments, ARGUMENT, 0.7, 25),
        ("literals", literals, LITERAL, 0.7, 12),
        ("names in literals", own, LITERAL, 0.7, 8),
    ):
        if found.wants(name):
            found.add(name, name_scores.by_term(corpus, terms, prefix, power=power, most=most))
    if found.wants("name words of title"):
        title = name_scores.name_words(query, names, (Region.TITLE,))
        found.add("name words of title", Pair(best_parts(corpus, title), title))
    if found.wants("defined names of title"):
        found.add("defined names of title", name_scores.defined_in_title(corpus, query, names))


def _add_places(found: Features, corpus: Corpus, query: Query, paths: Paths) -> None:
    if found.wants("language share"):
        found.files["language share"] = path_scores.language_shares(corpus)
    found.files["path"] = path_scores.words_in_paths(query, paths)
    found.files["whole stem"] = path_scores.whole_stems(query, paths)
    found.files["named file"] = path_scores.named_files(corpus, query, paths)
    found.add("traceback", path_scores.framed(corpus, query.frames, paths))
    found.files["in traceback"] = dict.fromkeys(found.files["traceback"], 1.0)
    found.add("failing test", path_scores.framed(corpus, query.failing_frames, paths))


def _add_neighbours(found: Features, corpus: Corpus, query: Query, names: Names, paths: Paths) -> None:
    modules = Modules.of(corpus)
    imported, named = neighbour_scores.tested(
        corpus, found.files["definitions"], found.files["named file"], modules, paths
    )
    found.files["imported by tests"] = imported
    found.files["name of tests"] = named
    found.files["imported by the best"] = neighbour_scores.importing(corpus, _base(found, corpus), modules)
    if found.wants("importers"):
        found.files["importers"] = neighbour_scores.importers(corpus, modules)
    if found.wants("base classes"):
        found.files["base classes"] = neighbour_scores.inherited(corpus, query, names)
    found.add("imported by issue", neighbour_scores.imported_by_issue(corpus, query, modules))
    found.add("spoken of", neighbour_scores.spoken_of(corpus, query, modules))
    found.files["vendored"] = path_scores.vendored(corpus)
    package = {n: 1.0 for n, file in enumerate(corpus.files) if file.path.endswith("/__init__.py")}
    found.files["package file"] = package


def _base(found: Features, corpus: Corpus) -> Scores:
    """Return a plain first ranking, from which neighbours are looked at."""
    base: Scores = {}
    for name, weight in (("definitions", 1.0), ("text", 1.0), (f"{Region.TITLE} text", 1.0), ("path", 0.3)):
        scores = {file: score for file, score in found.files[name].items() if not corpus.files[file].aside}
        best = max(scores.values(), default=0.0)
        for file, score in scores.items() if best else ():
            base[file] = base.get(file, 0.0) + weight * score / best
    return base
