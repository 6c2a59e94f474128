"""The control: a test planted beside the others that must fail, and be told to have failed.

What tested code can do to a report, it can only do to all of it. A process that ends early with status 0, a
report that somebody else wrote, results that are turned round before they are told: the planted test, whose
name is new each time, comes out of none of them as it should.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from domain.model import Check, RunStatus
from harness.baseline import Baseline
from harness.runs import CONTROL, FIXED_AGAIN, Runs
from harness.testing.adapters.adapter import Planted
from harness.testing.adapters.registry import adapter_of
from harness.testing.cases import Case, CaseOutcome, Observed, reading_of
from harness.testing.compare import is_in
from harness.testing.paths import is_test_file
from harness.testing.plan import TestPlan

_log = structlog.get_logger(__name__)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST_FILES = 8
_NO_WAY = "there is no way to plant a test for this runner"
_COUNTS = "the results are known by their counts alone, which whatever is printed could forge"
_NOTE = "with a planted test that had to fail, and did"


class Sight(StrEnum):
    """What became of the planted tests."""

    RED = "reported to have failed"
    GREEN = "reported to have passed"
    HIDDEN = "reported to have failed, while the command said that all is well"
    ABSENT = "not reported"
    NOTHING = "could not be planted"


@dataclass(frozen=True, slots=True)
class _Tried:
    """One control run: what was seen, and the run without the planted tests."""

    sight: Sight
    cleaned: Observed | None = None


class Control:
    """Makes the control for one changed tree, at most once. `check` says what came of it."""

    def __init__(self, runs: Runs, baseline: Baseline, tree: str) -> None:
        self._runs, self._baseline, self._tree = runs, baseline, tree
        self._tried: _Tried | None = None
        self.check: Check | None = None

    def repetition(
        self, plan: TestPlan, fixed: Observed, greened: Iterable[str], targets: Iterable[str]
    ) -> Observed | None:
        """Run the target files once more, and make the control in the same run.

        None where it did not come out as it must: then nothing is known of the targets either.
        """
        planted = self._planted(plan, self._tree, _files_of(fixed, greened), most=_MOST_FILES)
        self._tried = tried = self._try(plan, self._tree, planted, targets)
        if tried.sight is Sight.RED and tried.cleaned is not None:
            self._runs.records.append(replace(tried.cleaned.run, name=FIXED_AGAIN))
            return tried.cleaned
        return None

    def refusal(self, plan: TestPlan, fixed: Observed, greened: Iterable[str] = ()) -> str:
        """Return why nothing that was reported on the changed tree can be believed, or ""."""
        if self._tried is None:
            self._tried = self._tried_in_one(plan, self._tree, fixed, greened)
            if self._tried.sight is Sight.RED and self._tried.cleaned is not None:
                self._runs.records.append(self._tried.cleaned.run)
        why = self._judged(plan, fixed, self._tried)
        _log.info("control made", sight=str(self._tried.sight), refused=bool(why))
        return why

    def _judged(self, plan: TestPlan, fixed: Observed, tried: _Tried) -> str:
        if tried.sight is Sight.RED:
            self._told(RunStatus.PASSED, "a test that must fail was planted, and reported to have failed")
            return ""
        if tried.sight is Sight.NOTHING:
            return self._unknown(_NO_WAY if fixed.has_ids else _COUNTS)
        compared = ""
        if tried.sight is not Sight.GREEN and self._baseline.observed is not None:
            base = self._tried_in_one(plan, self._baseline.tree, self._baseline.observed)
            if base.sight is not Sight.RED:
                return self._unknown(f"a planted test is {base.sight} even on the unchanged base")
            compared = " On the unchanged base, it is reported to fail."
        self._told(RunStatus.FAILED, f"a planted test that must fail was {tried.sight}")
        return (
            "What the tests report on the changed tree cannot be believed: a test that must fail was planted "
            f"beside them, and was {tried.sight}.{compared}"
        )

    def _unknown(self, why: str) -> str:
        """Note that there was no control: what the results rest on is then the runner's word alone."""
        self._told(RunStatus.COULD_NOT_TELL, f"whether a failing test would be reported was not shown: {why}")
        return ""

    def _told(self, status: RunStatus, what: str) -> None:
        self.check = Check(name=CONTROL, status=status, what=what)

    def _tried_in_one(
        self, plan: TestPlan, tree: str, observed: Observed, first: Iterable[str] = ()
    ) -> _Tried:
        """Make the control in one file, of these tests if possible, else of some that have passed."""
        files = [*_files_of(observed, first), *_files_of(observed, observed.run.passed_ids)]
        planted = self._planted(plan, tree, files, most=1)
        return self._try(plan, tree, planted, [each.path for each in planted.values()])

    def _try(
        self, plan: TestPlan, tree: str, planted: Mapping[str, Planted], targets: Iterable[str]
    ) -> _Tried:
        if not planted:
            return _Tried(Sight.NOTHING)
        narrowed = [path for path in targets if is_test_file(path)]
        observed = self._runs.control(plan, tree, list(planted.values()), narrowed)
        return _Tried(_seen(observed, planted), _without(observed, planted))

    def _planted(self, plan: TestPlan, tree: str, files: Iterable[str], *, most: int) -> dict[str, Planted]:
        """Return planted files under the names of the tests in them."""
        adapter, known = adapter_of(plan.runner), self._runs.paths_of(tree)
        found: dict[str, Planted] = {}
        for path in dict.fromkeys(place for file in dict.fromkeys(files) for place in _places(file, known)):
            name = "".join(secrets.choice(_LETTERS) for _ in range(12))
            planted = adapter.planted(path, self._runs.text_of(tree, path), name)
            if planted is not None:
                found[name] = planted
            if len(found) == most:
                break
        return found


def _places(file: str, known: frozenset[str]) -> list[str]:
    """Return the paths of a tree that a report means by a file; Go names a directory."""
    if file in known:
        return [file]
    directory = "" if file in {"", "."} else f"{file}/"
    inside = [p for p in known if p.startswith(directory) and "/" not in p.removeprefix(directory)]
    if go_tests := sorted(path for path in inside if path.endswith("_test.go")):
        return go_tests[:1]
    endings = [path for path in known if file and path.endswith("/" + file)]
    return endings if len(endings) == 1 else []


def _files_of(observed: Observed, identities: Iterable[str]) -> list[str]:
    cases = [observed.cases[each] for each in sorted(identities) if each in observed.cases]
    return [case.file for case in cases if case.file]


def _ours(observed: Observed, name: str) -> list[Case]:
    """Return what is reported under a planted name; a file can hold it twice, in two styles."""
    return [case for identity, case in observed.cases.items() if name in identity.lower()]


def _seen(observed: Observed, planted: Mapping[str, Planted]) -> Sight:
    outcomes: set[CaseOutcome] = set()
    for name, file in planted.items():
        ours = _ours(observed, name)
        outcomes |= {case.outcome for case in ours}
        if not ours and any(is_in(case, [file.path]) for case in observed.cases.values()):
            return Sight.ABSENT
    if CaseOutcome.PASSED in outcomes:
        return Sight.GREEN
    if CaseOutcome.FAILED not in outcomes:
        return Sight.ABSENT
    if observed.run.exit_code == 0:
        return Sight.HIDDEN
    return Sight.RED if observed.run.status is RunStatus.FAILED else Sight.ABSENT


def _without(observed: Observed, planted: Mapping[str, Planted]) -> Observed:
    """Return what a control run says of the other tests."""
    ours = {case.id for name in planted for case in _ours(observed, name)}
    reading = reading_of(case for identity, case in observed.cases.items() if identity not in ours)
    run = replace(
        observed.run,
        name=CONTROL,
        status=RunStatus.FAILED if reading.failed else RunStatus.PASSED,
        passed=reading.passed,
        failed=reading.failed,
        skipped=reading.skipped,
        passed_ids=observed.run.passed_ids - ours,
        failed_ids=observed.run.failed_ids - ours,
        note=_NOTE,
    )
    return replace(observed, run=run, cases=reading.cases)
