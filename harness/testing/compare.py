"""Comparing runs: what turned green, what broke, what is gone; test by test where ids are known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from domain.model import RunStatus
from harness.testing.cases import Case, CaseOutcome, Observed

_NEEDS_NEW_NAME = re.compile(
    r"ImportError|ModuleNotFoundError|AttributeError|error\[E\d+\]|undefined: |is not a function"
    r"|cannot find (?:function|value|type|method|macro|struct|symbol)|does not provide an export"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Greened:
    """Tests that failed without the fix and pass with it; `unloaded` names files that only load with it.

    `unfinished` says that without the fix their run did not come to an end.
    """

    tests: tuple[str, ...]
    unloaded: tuple[str, ...] = ()
    unfinished: bool = False


def same_file(path: str, file: str) -> bool:
    """Tell whether a runner's name of a file means this path; a run in a subdirectory shortens it."""
    return bool(file) and (path == file or path.endswith("/" + file))


def is_in(case: Case, paths: Iterable[str]) -> bool:
    """Tell whether a test stands in one of these files (for Go, in one of their packages)."""
    if not case.directory:
        return any(same_file(path, case.file) for path in paths)
    for path in paths:
        place = path.rpartition("/")[0] or "."
        if place == case.file or case.file.endswith("/" + place):
            return True
    return False


def turned_green(
    *, baseline: Observed | None, with_tests: Observed | None, fixed: Observed, touched: Collection[str]
) -> Greened:
    """Return what went from red to green.

    A test in a file that the change touches is red only if it fails with the *new* text of that file on the
    base code; any other test is red if it failed in the baseline. Where the run of the new tests on the base
    hangs, what is new in those files was red.
    """
    if not fixed.has_ids:
        return _greened_by_count(baseline, with_tests, fixed)
    if with_tests is not None and _hangs(with_tests, fixed):
        known = baseline.cases if baseline else {}
        new = [i for i in sorted(fixed.run.passed_ids) if i not in known and is_in(fixed.cases[i], touched)]
        return Greened(tests=tuple(new), unfinished=bool(new))
    red, unloaded = _red(baseline, with_tests, touched)
    passed_before = baseline.run.passed_ids if baseline else frozenset()
    green = []
    for identity in sorted(fixed.run.passed_ids):
        case = fixed.cases[identity]
        from_unloaded = identity not in passed_before and is_in(case, unloaded)
        if identity in red or from_unloaded:
            green.append(identity)
    shown = {path for path in unloaded if any(is_in(fixed.cases[identity], [path]) for identity in green)}
    return Greened(tests=tuple(green), unloaded=tuple(sorted(shown)))


def is_unbuilt(observed: Observed) -> bool:
    """Tell whether some tests of a run could not be built or loaded."""
    return any(case.collection for case in observed.cases.values())


def placed(with_tests: Observed, fixed: Observed, paths: Iterable[str]) -> Observed:
    """Say of a run in which tests inside of these sources were not built that it is they that did not load.

    A compiler names what it could not build as a whole; which tests belong to it, the other run tells.
    """
    if not is_unbuilt(with_tests):
        return with_tests
    cases = dict(with_tests.cases)
    lost = next(case for case in cases.values() if case.collection)
    for path in paths:
        for binary in sorted(
            {i.partition("::")[0] for i, case in fixed.cases.items() if is_in(case, [path])}
        ):
            key = f"{path} in {binary}"
            cases[key] = replace(lost, id=binary, file=path)
    failed = with_tests.run.failed_ids | (cases.keys() - with_tests.cases.keys())
    return replace(with_tests, cases=cases, run=replace(with_tests.run, failed_ids=failed))


def red_cases(greened: Greened, with_tests: Observed | None) -> list[Case]:
    """Return how the greened tests failed on the base; nothing if one was red there already, or all hung."""
    if with_tests is None or greened.unfinished:
        return []
    cases = with_tests.cases
    unloaded = [c for c in cases.values() if c.collection and is_in(c, greened.unloaded)]
    known = [cases[identity] for identity in greened.tests if identity in cases]
    files = {name for case in unloaded for name in (case.file, case.id)}
    others = [i for i in greened.tests if i not in cases and i.partition("::")[0] not in files]
    return [] if others else known + unloaded


def _hangs(with_tests: Observed, fixed: Observed) -> bool:
    """Tell a hang from slowness: with the fix, the whole suite ends in well under the time that was given."""
    return with_tests.run.status is RunStatus.TIMED_OUT and fixed.run.seconds * 2 < with_tests.run.seconds


def _red(
    baseline: Observed | None, with_tests: Observed | None, touched: Collection[str]
) -> tuple[set[str], set[str]]:
    red: set[str] = set()
    unloaded: set[str] = set()
    if baseline is not None:
        red |= {i for i in baseline.run.failed_ids if not is_in(baseline.cases[i], touched)}
    if with_tests is not None:
        for identity in with_tests.run.failed_ids:
            case = with_tests.cases[identity]
            if case.collection:
                unloaded |= {path for path in touched if is_in(case, [path])}
            elif is_in(case, touched) or not case.file:
                red.add(identity)
    return red, unloaded


def _greened_by_count(baseline: Observed | None, with_tests: Observed | None, fixed: Observed) -> Greened:
    """Without names there is only arithmetic: failures before, or with the new tests alone, and none now."""
    before = with_tests or baseline
    if before is None or fixed.run.status is not RunStatus.PASSED:
        return Greened(tests=())
    if before.run.status is RunStatus.FAILED and before.run.failed:
        return Greened(tests=(f"{before.run.failed} tests, known by their count only",))
    does_not_build = before.run.exit_code != 0 and _NEEDS_NEW_NAME.search(before.output)
    if with_tests is not None and before.run.status is RunStatus.COULD_NOT_TELL and does_not_build:
        return Greened(tests=("the new tests, which only build with the fix",), unloaded=("the new tests",))
    return Greened(tests=())


def broken(*, baseline: Observed, now: Observed, original: Observed | None = None) -> tuple[str, ...]:
    """Return tests that passed in the baseline and do not now, with why in parentheses where not failed.

    A test that is not there any more is excused if it passes under the same name in another file, or if the
    original text of its file still passes on the new code and the file holds no fewer tests than before.
    """
    if not baseline.has_ids:
        return _broken_by_count(baseline, now)
    result = []
    for identity in sorted(_real(baseline)):
        was_green = identity in baseline.run.passed_ids
        if identity in now.run.passed_ids or (not was_green and identity in now.cases):
            continue
        if identity in now.run.failed_ids:
            result.append(identity)
        elif identity in now.cases:
            result.append(f"{identity} (now skipped)")
        elif not _moved(baseline.cases[identity], baseline, now) and not _replaced(
            baseline.cases[identity], baseline, now, original
        ):
            result.append(f"{identity} (gone)")
    return tuple(result)


def _real(observed: Observed) -> set[str]:
    return {identity for identity, case in observed.cases.items() if not case.collection}


def _moved(case: Case, baseline: Observed, now: Observed) -> bool:
    return any(
        other.name == case.name and other.outcome is CaseOutcome.PASSED and identity not in baseline.cases
        for identity, other in now.cases.items()
    )


def _replaced(case: Case, baseline: Observed, now: Observed, original: Observed | None) -> bool:
    if original is None or (case.outcome is CaseOutcome.PASSED and case.id not in original.run.passed_ids):
        return False
    before = sum(other.file == case.file for other in baseline.cases.values())
    after = sum(other.file == case.file for other in now.cases.values())
    return after >= before


def _broken_by_count(baseline: Observed, now: Observed) -> tuple[str, ...]:
    if now.run.passed is None or baseline.run.passed is None:
        return ()
    failed_before, failed_now = baseline.run.failed or 0, now.run.failed or 0
    if failed_now > failed_before:
        return (f"{failed_now} tests fail, {failed_before} did before",)
    if now.run.passed < baseline.run.passed:
        return (f"{now.run.passed} tests pass, {baseline.run.passed} did before",)
    return ()


def identity_of(entry: str) -> str:
    """Return the test id in an entry of `broken`."""
    return re.sub(r" \((?:gone|now skipped)\)$", "", entry)


def new_failures(*, baseline: Observed | None, now: Observed) -> tuple[str, ...]:
    """Return tests that fail now and were not there, or could not be loaded, before: the change's own."""
    known = baseline.cases if baseline else {}
    return tuple(sorted(identity for identity in now.run.failed_ids if identity not in known))
