"""What a run may excuse: a test that expects something else now, while its original text passes as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from domain.model import Finding, Severity
from harness.testing.cases import Case, CaseOutcome
from harness.testing.compare import same_file


def excused(
    findings: Iterable[Finding], replaced: Mapping[Finding, tuple[str, str]], original: Iterable[Case]
) -> tuple[Finding, ...]:
    """Make warnings of those `replaced` expectations whose test, as it was, passes with the fix.

    `original` are the results of the original tests on the changed tree. What fails there, or does not run in
    any of its cases, stays critical.
    """
    cases = tuple(original)
    return tuple(_settled(finding, replaced.get(finding), cases) for finding in findings)


def _settled(finding: Finding, test: tuple[str, str] | None, cases: tuple[Case, ...]) -> Finding:
    if test is None:
        return finding
    path, name = test
    own = [case for case in cases if same_file(path, case.file) and _means(case.name, name)]
    outcomes = {case.outcome for case in own}
    if CaseOutcome.PASSED not in outcomes or CaseOutcome.FAILED in outcomes:
        return finding
    what = f"{finding.what} (as it was, it passes with the change, too)"
    return replace(finding, severity=Severity.WARNING, what=what)


def _means(reported: str, name: str) -> bool:
    """Tell whether a runner's name of a test means this one: parameters apart, with or without its suites."""
    plain = reported.partition("[")[0]
    return (
        plain == name
        or reported == name
        or reported.endswith((f" {name}", f"::{name}", f".{name}", f"/{name}"))
    )
