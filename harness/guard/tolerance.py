"""What runs may excuse: a test that was edited, while its original text passes with the fix as well."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from domain.model import Finding, Severity
from harness.testing.cases import Case, CaseOutcome
from harness.testing.compare import is_in

FAILS_AS_IT_WAS = "as it was, it fails with the change"
"""Said of an edit that hides a regression or corrects an expectation: a person has to say which."""

_JOINTS = (" ", " > ", " › ", "::", ".", "#")

Place = tuple[str, str]
"""A test: its file's path, and its name as the guard reads it."""


@dataclass(frozen=True, slots=True)
class EditedTest:
    """A test that an edit made ask for less, as it was and as it is; `now` is None where it is gone.

    `must_show` says that the edited test itself has to show the fault: nothing else stands for what it lost.
    Where other literals took the place of those that went, it need not.
    """

    was: Place
    now: Place | None
    must_show: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the runs showed: the original tests' cases on the changed tree, and the cases that turned green.

    `original` is None where these tests were not run.
    """

    original: Collection[Case] | None
    greened: Collection[Case]


def excused(
    findings: Iterable[Finding], edits: Mapping[Finding, EditedTest], seen: Seen
) -> tuple[Finding, ...]:
    """Make warnings of those edits that hide nothing; say of the others what the runs showed of them.

    A test that fails as it was, or does not run in any of its cases, hides a regression or corrects an
    expectation: which of them, a person has to say.
    """
    return tuple(_settled(finding, edits.get(finding), seen) for finding in findings)


def _settled(finding: Finding, edit: EditedTest | None, seen: Seen) -> Finding:
    if edit is None or seen.original is None or finding.severity is not Severity.CRITICAL:
        return finding
    own = _cases(edit.was, seen.original)
    loosely = not own and not edit.was[0].endswith(".py")
    own = own or (_cases(edit.was, seen.original, loosely=True) if loosely else [])
    outcomes = {case.outcome for case in own}
    if CaseOutcome.FAILED in outcomes:
        said = FAILS_AS_IT_WAS
    elif CaseOutcome.PASSED not in outcomes:
        said = "as it was, it was not seen to pass with the change"
    elif edit.now is None:
        said = "as it was, it passes with the change, which shows that it can stay"
    elif edit.must_show and not _cases(edit.now, seen.greened, loosely=loosely):
        said = "as it was, it passes with the change, which shows that it need not ask for less"
    elif edit.must_show:
        what = f"{finding.what} (as it was, it passes with the change, too, and it shows the fault now)"
        return replace(finding, severity=Severity.WARNING, what=what)
    else:
        what = f"{finding.what} (as it was, it passes with the change, too)"
        return replace(finding, severity=Severity.WARNING, what=what)
    return replace(finding, what=f"{finding.what} ({said})")


def _cases(test: Place, cases: Iterable[Case], *, loosely: bool = False) -> list[Case]:
    """Return the cases of a test, by its whole name; `loosely` by its last part, whatever suite it is in."""
    path, name = test
    is_it = _ends_with if loosely else _is_called
    return [case for case in cases if is_in(case, [path]) and is_it(case.name, name)]


def _is_called(reported: str, name: str) -> bool:
    """Tell whether a runner's name of a test is this one, parameters apart; runners join suites variously."""
    plain = reported.partition("[")[0]
    parts = re.split(r"::| › ", name)
    joined = {by.join(parts) for by in _JOINTS}
    return plain in joined or reported in joined


def _ends_with(reported: str, name: str) -> bool:
    short = re.split(r"::| › ", name)[-1]
    return _is_called(reported, short) or any(reported.endswith(f"{by}{short}") for by in (*_JOINTS, "/"))
