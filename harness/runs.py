"""The runs of one examination: which trees are tested, with which tests, and what was seen each time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from domain.model import TestRun
from harness.baseline import Baseline
from harness.document_links import Site
from harness.guard.change import Change, Trees
from harness.in_source.edits import in_source_edits
from harness.in_source.unbuilt import without_broken
from harness.testing.adapters.adapter import Planted
from harness.testing.cases import Observed
from harness.testing.compare import is_in, is_unbuilt
from harness.testing.paths import is_documentation, is_source, is_test_file, is_test_side
from harness.testing.plan import TestPlan
from harness.testing.run import RunRequest, TestBench

BASE, BASE_WITH_TESTS = "base", "base + new tests"
FIXED, FIXED_ORIGINAL_TESTS = "fixed", "fixed, original tests"
BASE_AGAIN = "base, again"
OWN_CI = "this repository's own CI"
CONTROL = "control"
BASE_DOCUMENTATION, DOCUMENTATION = "base documentation", "documentation"
BASE_WITH_TESTS_AGAIN, FIXED_AGAIN = "base + new tests, again", "fixed, new tests again"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git knows it without being told; the difference to it is all of a tree."""
MOST_BUILDS = 3
"""How often what a compiler stops at is taken out of new tests: each round may show what the last one hid."""
HANG_SECONDS = 20.0
HANG_FACTOR = 5
"""New tests on the base hang if they take longer than this, and than so many runs of its whole suite."""


class Runs:
    """Makes the runs, and keeps the record of each in the order in which they were made."""

    def __init__(self, trees: Trees, bench: TestBench, change: Change, baseline: Baseline) -> None:
        self._trees, self._bench = trees, bench
        self._change, self._baseline = change, baseline
        self.in_source = in_source_edits(change, with_examples=_runs_examples(baseline))
        """Sources whose own tests the change edits."""
        self._new_texts = {
            each.path: each.base_with_new for each in self.in_source if each.base_with_new is not None
        }
        self.records: list[TestRun] = [baseline.run] if baseline.run else []

    def fixed(self, plan: TestPlan) -> Observed:
        """Run the whole suite on the changed tree."""
        return self._run(FIXED, plan, self._change.tree)

    def fixed_again(self, plan: TestPlan, targets: Iterable[str]) -> Observed:
        """Run some test files of the changed tree once more."""
        return self._run(FIXED_AGAIN, plan, self._change.tree, targets)

    def base_again(self, plan: TestPlan, targets: Iterable[str] = ()) -> Observed:
        """Run the unchanged base once more, whole or some of its test files."""
        return self._run(BASE_AGAIN, plan, self._baseline.tree, targets)

    def control(
        self, plan: TestPlan, tree: str, planted: Sequence[Planted], targets: Iterable[str]
    ) -> Observed:
        """Run test files of a tree with tests planted that must fail; the caller makes the record of it."""
        deadline = self._baseline.section.timeout_seconds
        return self._bench.run(
            RunRequest(
                name=CONTROL,
                plan=plan,
                tree=tree,
                deadline_seconds=deadline,
                targets=tuple(targets),
                planted=tuple(planted),
            )
        )

    def new_tests(self, plan: TestPlan, name: str = BASE_WITH_TESTS) -> Observed | None:
        """Run the change's own tests on the base code, or return None if it has none."""
        tree = self.base_with_new_tests()
        if tree is None:
            return None
        return self._run(name, plan, tree, self.targets(), deadline_seconds=self._patience())

    def new_tests_that_build(self, plan: TestPlan, unbuilt: Observed) -> Observed | None:
        """Run the change's own tests on the base once more, without those at which its compiler stopped.

        None where it stopped at something else, or where nothing is left.
        """
        observed = unbuilt
        for _ in range(MOST_BUILDS):
            cut = without_broken(self._new_texts, observed.output)
            if cut is None:
                return None
            self._new_texts = cut
            again = self.new_tests(plan)
            if again is None:
                return None
            self.records.remove(observed.run)
            observed = again
            if not is_unbuilt(observed):
                return observed
        return None

    def original_tests(self, plan: TestPlan) -> Observed | None:
        """Run the original tests on the new code, if the change touches any or its sources name new ones."""
        deltas = self._change.deltas
        side = self._side()
        existing = [path for path in side if deltas[path].old is not None]
        support = [path for path in side if not is_test_file(path)]
        if not existing and not support and not self.in_source and not self._is_leaned_on(side):
            return None
        tree = self._trees.overlay(self._change.tree, self._change.base_tree, side)
        if self.in_source:
            tree = self._trees.with_texts(tree, {each.path: each.fixed_with_old for each in self.in_source})
        return self._run(FIXED_ORIGINAL_TESTS, plan, tree)

    def base_with_new_tests(self) -> str | None:
        """Return the base tree with the change's new and changed tests, or None if it has no tests."""
        deltas = self._change.deltas
        texts = self._new_texts
        if not texts and not any(deltas[path].new is not None for path in self.touched_tests()):
            return None
        paths = [path for path in self._side() if deltas[path].new is not None]
        tree = self._trees.overlay(self._change.base_tree, self._change.tree, paths)
        return self._trees.with_texts(tree, texts) if texts else tree

    def taken_back(self) -> list[str]:
        """Return what the run of the original tests has as it was, in part or as a whole."""
        return sorted({*self._side(), *(each.path for each in self.in_source)})

    def _side(self) -> list[str]:
        """Return what belongs to the tests: by its name, or since the suite runs a document's examples."""
        return [path for path in self._change.paths if is_test_side(path) or self._is_run(path)]

    def _is_run(self, path: str) -> bool:
        observed = self._baseline.observed if is_documentation(path) else None
        return observed is not None and any(is_in(case, [path]) for case in observed.cases.values())

    def _is_leaned_on(self, paths: Sequence[str]) -> bool:
        """Tell whether a changed source speaks of one of these files: it may be made of it."""
        stems = [re.escape(PurePosixPath(path).stem) for path in paths]
        if not stems:
            return False
        spoken = re.compile(rf"\b(?:{'|'.join(stems)})\b")
        return any(
            spoken.search(self._change.deltas[path].new_text)
            for path in self._change.paths
            if is_source(path) and path not in paths
        )

    def paths_of(self, tree: str) -> frozenset[str]:
        """Return the files of a tree. Raises GitError."""
        return frozenset(changed.path for changed in self._trees.changes(EMPTY_TREE, tree))

    def text_of(self, tree: str, path: str) -> str:
        """Return a file of a tree, "" for none. Raises GitError."""
        return (self._trees.read_file(tree, path) or b"").decode("utf-8", "surrogateescape")

    def site(self, tree: str) -> Site:
        """Return a tree as the links in its documents see it. Raises GitError."""
        paths = self.paths_of(tree)

        def read(path: str) -> str:
            return (self._trees.read_file(tree, path) or b"").decode("utf-8", "replace")

        return Site(paths, read)

    def built(self, plan: TestPlan, seconds: float) -> Observed:
        """Build the changed tree's documentation; the caller makes the record of it."""
        return self._made(DOCUMENTATION, plan, self._change.tree, seconds)

    def built_on_base(self, plan: TestPlan, seconds: float) -> Observed:
        """Build the base's documentation; the caller makes the record of it."""
        return self._made(BASE_DOCUMENTATION, plan, self._change.base_tree, seconds)

    def unrecorded(self, plan: TestPlan, seconds: float) -> str:
        """Run something that is no test on the changed tree, and return what it printed."""
        return self._made("shell blocks", plan, self._change.tree, seconds).output

    def _made(self, name: str, plan: TestPlan, tree: str, seconds: float) -> Observed:
        return self._bench.run(RunRequest(name=name, plan=plan, tree=tree, deadline_seconds=seconds))

    def touched_tests(self) -> list[str]:
        """Return the files with tests that the change touches; sources whose own tests it edits, too."""
        own = {each.path for each in self.in_source}
        return [
            path for path in self._change.paths if is_test_file(path) or path in own or self._is_run(path)
        ]

    def targets(self) -> list[str]:
        """Return those of them that the changed tree still has; nothing, for all, where sources hold some."""
        if self.in_source:
            return []
        return [path for path in self.touched_tests() if self._change.deltas[path].new is not None]

    def named(self, *names: str) -> TestRun | None:
        """Return the first run of the first of these names that was made."""
        return next((run for name in names for run in self.records if run.name == name), None)

    def _patience(self) -> float:
        """Return how many seconds the new tests may take on the base: a fault may show as a hang."""
        longest = float(self._baseline.section.timeout_seconds)
        run = self._baseline.run
        return longest if run is None else min(longest, max(HANG_SECONDS, run.seconds * HANG_FACTOR))

    def _run(
        self,
        name: str,
        plan: TestPlan,
        tree: str,
        targets: Iterable[str] = (),
        *,
        deadline_seconds: float | None = None,
    ) -> Observed:
        deadline = deadline_seconds or self._baseline.section.timeout_seconds
        observed = self._bench.run(
            RunRequest(name=name, plan=plan, tree=tree, deadline_seconds=deadline, targets=tuple(targets))
        )
        self.records.append(observed.run)
        return observed


def _runs_examples(baseline: Baseline) -> bool:
    """Tell whether the suite runs what stands in sources of Python: doctest's examples."""
    cases = baseline.observed.cases.values() if baseline.observed else ()
    return any(case.file.endswith(".py") and not is_test_side(case.file) for case in cases)
