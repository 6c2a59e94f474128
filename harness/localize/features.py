"""All evidence for files and for parts, by name: what the ranking weighs."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.localize import name_scores, neighbour_scores, path_scores, text_scores
from harness.localize.corpus import Corpus
from harness.localize.facts import ARGUMENT, CALLED, VARIABLE
from harness.localize.literals import LITERAL, RUN
from harness.localize.modules import Modules
from harness.localize.name_scores import Names, Pair
from harness.localize.path_scores import Paths
from harness.localize.query import Query
from harness.localize.regions import Region
from harness.localize.text_scores import Scores, best_part, best_parts


@dataclass(slots=True)
class Features:
    """Scores by feature; what is missing is 0. `files` by the number of a file, `parts` by that of a part."""

    files: dict[str, Scores] = field(default_factory=dict)
    parts: dict[str, Scores] = field(default_factory=dict)

    def add(self, name: str, pair: Pair) -> None:
        """Add evidence for both."""
        self.files[name] = pair.files
        self.parts[name] = pair.parts


def wanted_terms(query: Query) -> frozenset[str]:
    """Return all terms that a query looks up."""
    return query.terms | name_scores.wanted_names(query)


def collect(corpus: Corpus, query: Query) -> Features:
    """Score every file and part by every feature; nothing is cut."""
    found = Features()
    _add_text(found, corpus, query)
    names = Names.of(corpus)
    _add_names(found, corpus, query, names)
    paths = Paths.of(corpus)
    _add_places(found, corpus, query, paths)
    _add_neighbours(found, corpus, query, names, paths)
    return found


def _add_text(found: Features, corpus: Corpus, query: Query) -> None:
    text = text_scores.score_text(corpus, query)
    found.files["text"] = text.whole
    found.files["words found"] = text.words
    found.files["definitions"] = best_parts(corpus, text.part)
    found.files["long definitions"] = best_parts(corpus, text.long_part)
    found.parts["text"] = text.part
    for region, scores in text.by_region.items():
        found.files[f"{region} text"] = best_parts(corpus, scores)
        found.parts[f"{region} text"] = scores
    found.files["title covered"] = best_part(corpus, text.title_cover)
    found.parts["title covered"] = text.title_cover


def _add_names(found: Features, corpus: Corpus, query: Query, names: Names) -> None:
    words = name_scores.name_words(query, names)
    found.add("name words", Pair(best_parts(corpus, words), words))
    title = name_scores.name_words(query, names, (Region.TITLE,))
    found.add("name words of title", Pair(best_parts(corpus, title), title))
    found.add("defined names", name_scores.defined(corpus, query, names))
    found.add("defined names of title", name_scores.defined_in_title(corpus, query, names))
    found.add("qualified names", name_scores.qualified(corpus, query))
    own = {name: 1.0 for name in query.identifiers if name not in query.made_here}
    arguments = {**dict.fromkeys(own, 0.7), **dict.fromkeys(query.keywords, 1.0)}
    literals = {text: min(weight, 2.0) for text, weight in query.literals.items()}
    by_term = name_scores.by_term
    found.add("calls", by_term(corpus, own, CALLED, power=0.7, most=40))
    found.add("variables", by_term(corpus, own, VARIABLE, power=0.7, most=15))
    found.add("arguments", by_term(corpus, arguments, ARGUMENT, power=0.7, most=25))
    found.add("literals", by_term(corpus, literals, LITERAL, power=0.7, most=12))
    found.add("names in literals", by_term(corpus, own, LITERAL, power=0.7, most=8))
    found.add("messages", by_term(corpus, dict.fromkeys(query.runs, 1.0), RUN, power=1.0, most=6))


def _add_places(found: Features, corpus: Corpus, query: Query, paths: Paths) -> None:
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
    found.files["importers"] = neighbour_scores.importers(corpus, modules)
    found.files["base classes"] = neighbour_scores.inherited(corpus, query, names)
    found.add("imported by issue", neighbour_scores.imported_by_issue(corpus, query, modules))
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
