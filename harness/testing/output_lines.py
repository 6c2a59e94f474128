"""Reading what test tools print: single results where a line names one, else their counted summary."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.testing.cases import Case, CaseOutcome, Reading, reading_of

_PASSED, _FAILED, _SKIPPED = CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.SKIPPED
_WORDS = {
    "ok": _PASSED,
    "FAILED": _FAILED,
    "ignored": _SKIPPED,
    "PASS": _PASSED,
    "FAIL": _FAILED,
    "SKIP": _SKIPPED,
}

_CARGO = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_GO = re.compile(r"^[ \t]*--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
_TAP = re.compile(
    r"^([ \t]*)(not )?ok (\d+)(?: -?[ \t]*([^#\n]*))?(#[ \t]*(?:skip|todo)\b.*)?",
    re.MULTILINE | re.IGNORECASE,
)
_TICK = re.compile(
    r"^([ \t]*)([✓✔√✖✕✗×]|\d{1,9}\)) (.{0,1000}?)"
    r"(?:[ \t]{0,8}\(?\d{1,9}(?:\.\d{1,9})?[ \t]?m?s\)?)?[ \t]{0,8}\r?$",
    re.MULTILINE,
)
"""Bounded, like all patterns here: what a test prints must not be able to make them read on and on."""


def read_output(text: str) -> Reading | None:
    """Return the results that a tool printed, or None if nothing in the text counts tests."""
    counted = read_counts(text)
    cases = _named(text)
    if cases:
        reading = reading_of(cases)
        if counted is None or (reading.passed, reading.failed) == (counted.passed, counted.failed):
            return reading if counted is not None or _TAP_PLAN.search(text) else None
    return counted


_TAP_PLAN = re.compile(r"^1\.\.\d+", re.MULTILINE)


def says_no_tests(text: str) -> bool:
    """Tell whether a tool says in words that it found nothing to run."""
    return bool(
        re.search(
            r"no test specified|no tests? (?:found|ran|were found|to run|collected)|no test files found"
            r"|^Ran 0 tests|^[ \t]*0 passing\b|testing: warning: no tests to run"
            r"|^make(?:\[\d{1,3}\])?: (?:'[^'\n]{1,200}' is up to date|Nothing to be done for)",
            text,
            re.MULTILINE | re.IGNORECASE,
        )
    )


def _named(text: str) -> list[Case]:
    cases = [_case(name, _WORDS[word]) for name, word in _CARGO.findall(text)]
    cases += [_case(name, _WORDS[word]) for word, name in _GO.findall(text)]
    if cases:
        return cases
    if _TAP_PLAN.search(text) or text.startswith("TAP version"):
        return [_tap_case(match) for match in _TAP.finditer(text) if not match[1]]
    return []


def _tap_case(match: re.Match[str]) -> Case:
    name = (match[4] or "").strip() or f"test {match[3]}"
    if match[5]:
        return _case(name, _SKIPPED)
    return _case(name, _FAILED if match[2] else _PASSED)


def _case(name: str, outcome: CaseOutcome) -> Case:
    return Case(id=name, file="", name=name, outcome=outcome)


# -- summaries ------------------------------------------------------------------------------------


def read_counts(text: str) -> Reading | None:
    """Return the counts that a tool printed, without any names, or None if nothing counts tests."""
    for read in _SUMMARIES:
        found = read(text)
        if found is not None:
            passed, failed, skipped = found
            return Reading(passed=passed, failed=failed, skipped=skipped, cases={})
    return None


Counts = tuple[int, int, int] | None


def _cargo_summary(text: str) -> Counts:
    rows = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text, re.MULTILINE)
    return _sum(rows)


def _node_summary(text: str) -> Counts:
    """Node's own runner prints `# pass 3` in TAP and `ℹ pass 3` in its spec form."""
    found = dict(re.findall(r"^[#ℹ] (pass|fail|skipped) (\d+)$", text, re.MULTILINE))
    return (int(found["pass"]), int(found["fail"]), int(found.get("skipped", 0))) if len(found) > 1 else None


def _jest_summary(text: str) -> Counts:
    """Jest and vitest print one line of comma- or bar-separated counts after `Tests`."""
    rows = re.findall(r"^[ \t]*Tests:?\s+(.*\d+ (?:passed|failed|skipped|total|todo).*)$", text, re.MULTILINE)
    return _sum([_parts(row) for row in rows])


def _mocha_summary(text: str) -> Counts:
    passing = re.findall(r"^[ \t]*(\d+) passing\b", text, re.MULTILINE)
    failing = re.findall(r"^[ \t]*(\d+) failing\b", text, re.MULTILINE)
    pending = re.findall(r"^[ \t]*(\d+) pending\b", text, re.MULTILINE)
    if not passing:
        return None
    return sum(map(int, passing)), sum(map(int, failing)), sum(map(int, pending))


def _pytest_summary(text: str) -> Counts:
    rows = re.findall(
        r"^=*[ \t]*((?:\d+ (?:passed|failed|skipped|errors?|deselected|xfailed|xpassed|warnings?)(?:, )?)+)"
        r" in [\d.:]+",
        text,
        re.MULTILINE,
    )
    return _sum([_parts(row) for row in rows])


def _unittest_summary(text: str) -> Counts:
    total = failed = skipped = 0
    rows = re.findall(r"^Ran (\d+) tests? in [\d.]+s\n+(OK|FAILED)(?: \((.*)\))?", text, re.MULTILINE)
    for count, _, details in rows:
        numbers = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", details)}
        total += int(count)
        failed += numbers.get("failures", 0) + numbers.get("errors", 0) + numbers.get("successes", 0)
        skipped += numbers.get("skipped", 0)
    return (max(0, total - failed - skipped), failed, skipped) if rows else None


def _rspec_summary(text: str) -> Counts:
    rows = re.findall(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", text, re.MULTILINE)
    return _sum([(int(n) - int(f) - int(p or 0), f, p or 0) for n, f, p in rows])


def _minitest_summary(text: str) -> Counts:
    rows = re.findall(
        r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?",
        text,
        re.MULTILINE,
    )
    return _sum([(int(n) - int(f) - int(e) - int(s or 0), int(f) + int(e), s or 0) for n, f, e, s in rows])


def _surefire_summary(text: str) -> Counts:
    rows = re.findall(
        r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$", text, re.MULTILINE
    )
    return _sum([(int(n) - int(f) - int(e) - int(s), int(f) + int(e), s) for n, f, e, s in rows[-1:]])


def _phpunit_summary(text: str) -> Counts:
    if found := re.findall(r"^OK \((\d+) tests?, \d+ assertions?\)", text, re.MULTILINE):
        return int(found[-1]), 0, 0
    rows = re.findall(r"^Tests: (\d+), Assertions: \d+(.*)\.$", text, re.MULTILINE)
    counts = [(int(n), {k: int(v) for k, v in re.findall(r"(\w+): (\d+)", more)}) for n, more in rows]
    return _sum(
        [
            (n - sum(c.values()), c.get("Failures", 0) + c.get("Errors", 0), c.get("Skipped", 0))
            for n, c in counts
        ]
    )


def _go_summary(text: str) -> Counts:
    """Without -v, Go counts packages only."""
    passed = len(re.findall(r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?!.*no tests to run)", text, re.MULTILINE))
    failed = len(re.findall(r"^FAIL\s+\S+", text, re.MULTILINE))
    return (passed, failed, 0) if passed or failed else None


def _tap_summary(text: str) -> Counts:
    rows = [match for match in _TAP.finditer(text) if not match[1]] if _TAP_PLAN.search(text) else []
    cases = [_tap_case(match).outcome for match in rows]
    return (cases.count(_PASSED), cases.count(_FAILED), cases.count(_SKIPPED)) if rows else None


_SUMMARIES: tuple[Callable[[str], Counts], ...] = (
    *(_cargo_summary, _node_summary, _jest_summary, _mocha_summary, _unittest_summary, _pytest_summary),
    *(_rspec_summary, _minitest_summary, _surefire_summary, _phpunit_summary, _tap_summary, _go_summary),
)


def _parts(row: str) -> tuple[int, int, int]:
    """Add up the counts in a line such as `1 failed, 2 skipped, 30 passed`."""
    numbers: dict[str, int] = {}
    for count, word in re.findall(r"(\d+) (passed|failed|skipped|errors?|todo|xfailed|xpassed)", row):
        numbers[word.rstrip("s") if word.startswith("error") else word] = int(count)
    failed = numbers.get("failed", 0) + numbers.get("error", 0)
    skipped = numbers.get("skipped", 0) + numbers.get("todo", 0) + numbers.get("xfailed", 0)
    return numbers.get("passed", 0) + numbers.get("xpassed", 0), failed, skipped


def _sum(rows: list[tuple[int, int, int]] | list[tuple[str, str, str]]) -> Counts:
    if not rows:
        return None
    return (
        sum(int(row[0]) for row in rows),
        sum(int(row[1]) for row in rows),
        sum(int(row[2]) for row in rows),
    )
