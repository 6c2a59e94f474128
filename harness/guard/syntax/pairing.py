"""Which test became which: in place, renamed, moved, split, merged, or rewritten as a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from harness.guard.syntax.files import SyntaxFile
from harness.guard.syntax.grammar import Language
from harness.guard.syntax.model import Kind
from harness.guard.syntax.nodes import text_of
from harness.guard.syntax.view import View
from harness.testing.paths import is_test_file

SIMILAR = 0.6
"""How alike two tests' lines must be (0 to 1) for one to be the other under a new name."""
MOST_ALTOGETHER = 20_000
MOST_TABLES = 50
MOST_COMPARED = 200
"""New tests that a missing one is compared with; beyond that it counts as gone."""


@dataclass(slots=True)
class Tests:
    """The changed tests of a change: pairs of before and after, what is lost, what is new."""

    __test__ = False

    pairs: list[tuple[View, View]] = field(default_factory=list)
    lost: list[View] = field(default_factory=list)
    new: list[View] = field(default_factory=list)

    def surplus(self) -> Counter[str]:
        """Count the assertions that came on top of those that the paired tests had."""
        found: Counter[str] = Counter()
        for view in filter(runs, self.new):
            found.update(assertion.dump for assertion in view.assertions)
        for old, new in self.pairs:
            mine = Counter(assertion.dump for assertion in new.assertions)
            found.update(mine - Counter(assertion.dump for assertion in old.assertions))
        return found


class _Lines:
    """Lines of tests, each counted once; beyond so many comparisons, of none: then nothing is alike."""

    def __init__(self) -> None:
        self._known: dict[int, Counter[str]] = {}
        self._left = MOST_ALTOGETHER

    def of(self, view: View) -> Counter[str]:
        """Return a test's lines."""
        self._left -= 1
        if self._left < 0:
            return Counter()
        if id(view) not in self._known:
            self._known[id(view)] = lines_of(view)
        return self._known[id(view)]


def runs(view: View) -> bool:
    """Tell whether a test is in a file that a runner collects; in Rust that is any."""
    return view.unit.language is Language.RUST or is_test_file(view.unit.path)


def paired(files: Sequence[SyntaxFile]) -> Tests:
    """Pair the tests that went with those that came."""
    gone = [view for file in files for view in file.tests(old=True)]
    came = [view for file in files for view in file.tests(old=False)]
    tests, taken = Tests(), set[int]()
    by_full: dict[tuple[str, str], list[View]] = {}
    by_short: dict[str, list[View]] = {}
    by_language: dict[object, list[View]] = {}
    for view in came:
        by_full.setdefault((view.unit.path, view.unit.name), []).append(view)
        by_short.setdefault(view.unit.short, []).append(view)
        by_language.setdefault(view.unit.language, []).append(view)
    waiting, lines = gone, _Lines()
    for look in (
        lambda view: by_full.get((view.unit.path, view.unit.name), ()),
        lambda view: _where_it_runs(view, by_short.get(view.unit.short, ())),
        lambda view: _alike(
            view, _where_it_runs(view, by_language.get(view.unit.language, ())), taken, lines.of
        ),
    ):
        still: list[View] = []
        for view in waiting:
            match = next((item for item in look(view) if id(item) not in taken), None)
            if match is None:
                still.append(view)
                continue
            taken.add(id(match))
            tests.pairs.append((view, match))
        waiting = still
    tests.new = [view for view in came if id(view) not in taken]
    tests.lost = _without_covered(waiting, tests)
    return tests


def _where_it_runs(view: View, others: Sequence[View]) -> Iterator[View]:
    """Yield those in files that a runner collects, if the test's own file was one."""
    was_collected = runs(view)
    return (other for other in others if not was_collected or runs(other))


def _alike(
    view: View, others: Iterator[View], taken: set[int], lines: Callable[[View], Counter[str]]
) -> Iterator[View]:
    mine, best, score = lines(view), None, SIMILAR
    for other in islice((item for item in others if id(item) not in taken), MOST_COMPARED):
        theirs = lines(other)
        total = mine.total() + theirs.total()
        likeness = 2 * (mine & theirs).total() / total if total else 0.0
        if likeness >= score:
            best, score = other, likeness
    if best is not None:
        yield best


def lines_of(view: View) -> Counter[str]:
    """Count a test's lines without its head, layout left out."""
    lines = [re.sub(r"\s+", "", line) for line in text_of(view.unit.node).splitlines()[1:]]
    return Counter(line for line in lines if len(line) > 2)


def _without_covered(lost: list[View], tests: Tests) -> list[View]:
    """Leave out tests whose assertions live on in others, or whose cases are rows of a new table."""
    surplus, kept = tests.surplus(), []
    for view in lost:
        needed = Counter(assertion.dump for assertion in view.assertions)
        if needed and needed <= surplus:
            surplus -= needed
        else:
            kept.append(view)
    tables = [view for view in filter(runs, tests.new) if view.loops or view.cases] + [
        new for old, new in tests.pairs if new.loops > old.loops or new.cases
    ]
    few = tables[:MOST_TABLES] if len(kept) <= MOST_COMPARED else []
    return [view for view in kept if not any(_is_row(view, table) for table in few)]


def _is_row(view: View, table: View) -> bool:
    """Tell whether a table has all that a test expected, and calls what the test called."""
    expected = view.expected()
    if view.unit.language is not table.unit.language or not expected or not table.assertions:
        return False
    strictest = max((item.strictness for item in table.assertions), default=0)
    if strictest < max((item.strictness for item in view.assertions), default=0):
        return False
    subjects = {name for item in view.assertions for name in item.names} & view.called
    return not (expected - table.literals) and subjects <= (table.called | {view.unit.short})


def helpers(files: Sequence[SyntaxFile]) -> Iterator[tuple[SyntaxFile, View]]:
    """Yield the functions on the tests' side that came, and that changed tests call."""
    called = {name for file in files for view in file.tests(old=False) for name in view.called}
    for file in files:
        for view in file.came:
            is_helper = view.unit.in_tests and view.unit.kind is Kind.FUNCTION
            if is_helper and view.unit.short.rsplit(".", 1)[-1].partition("(")[0] in called:
                yield file, view
