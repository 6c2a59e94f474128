"""Runs every attack, the long ones included, and says by section what was tried, contained and skipped.

Ends with one line of JSON; exits with 1 if an attack succeeded or one of the list has no test.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.redteam.attacks import NUMBERS, SECTIONS, attacks_of

ROOT = Path(__file__).resolve().parents[2]
_NUMBERED = re.compile(r"^\s*(?:async )?def test_[a-f]\d+_", re.MULTILINE)
_FIGURES = ("health_seconds", "cancel_seconds", "resident_mb")


@dataclass
class Case:
    """One test as it ended."""

    name: str
    outcome: str
    reason: str
    figures: dict[str, float]


@dataclass
class Tally:
    """What became of a section's attacks. An attack is contained when all of its tests that ran passed."""

    contained: set[int] = field(default_factory=set)
    skipped: dict[int, str] = field(default_factory=dict)
    succeeded: set[int] = field(default_factory=set)
    untried: set[int] = field(default_factory=set)
    tests: int = 0


def main() -> int:
    """Run the suite; return 1 when something got through."""
    parser = argparse.ArgumentParser(prog="python -m tests.redteam.run", description=main.__doc__)
    parser.add_argument("--workers", default="3", help="how many attacks at a time")
    parser.add_argument("--kill-rounds", default="300", help="kills during the start of a sandbox")
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="redteam-") as directory:
        report = Path(directory) / "report.xml"
        status = _pytest(report, chosen.workers, chosen.kill_rounds)
        cases = list(_cases(report)) if report.exists() else []
    tallies = _tallied(cases)
    seconds = time.monotonic() - began
    _print(tallies, cases, seconds)
    broken = status != 0 or not cases or any(each.succeeded or each.untried for each in tallies.values())
    say(json.dumps(_figures(tallies, cases, seconds, broken)))
    return 1 if broken else 0


def say(line: str) -> None:
    """Print a line of the report."""
    print(line, flush=True)  # noqa: T201 - this is the program's output


def numbered_files() -> list[str]:
    """Return every test file with a numbered attack; some are at home with what they attack."""
    files = (ROOT / "tests").rglob("test_*.py")
    return sorted(str(path.relative_to(ROOT)) for path in files if _NUMBERED.search(path.read_text()))


def _pytest(report: Path, workers: str, kill_rounds: str) -> int:
    command = [sys.executable, "-m", "pytest", *numbered_files(), "-n", workers, "--dist", "loadfile",
               "-k", _wanted(), "-o", "junit_family=xunit1", f"--junitxml={report}", "-q"]  # fmt: skip
    environment = {**os.environ, "TEST_KILL_ROUNDS": kill_rounds}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _wanted() -> str:
    """Select the numbered tests."""
    return " or ".join(f"test_{section.lower()}{digit}" for section in SECTIONS for digit in "0123456789")


def _cases(report: Path) -> Iterator[Case]:
    for case in ElementTree.parse(report).iter("testcase"):
        outcome, reason = "passed", ""
        for kind in ("skipped", "failure", "error"):
            if (found := case.find(kind)) is not None:
                outcome, reason = kind, " ".join((found.get("message") or "").split())[:200]
        figures = {
            str(each.get("name")): float(str(each.get("value")))
            for each in case.iter("property")
            if each.get("name") in _FIGURES
        }
        yield Case(f"{case.get('classname')}::{case.get('name')}", outcome, reason, figures)


def _tallied(cases: list[Case]) -> dict[str, Tally]:
    by_attack: dict[tuple[str, int], list[Case]] = defaultdict(list)
    for case in cases:
        for attack in attacks_of(case.name):
            by_attack[attack].append(case)
    tallies = {section: Tally() for section in SECTIONS}
    for section, numbers in NUMBERS.items():
        for number in numbers:
            _enter(tallies[section], number, by_attack.get((section, number), []))
    return tallies


def _enter(tally: Tally, number: int, cases: list[Case]) -> None:
    outcomes = Counter(case.outcome for case in cases)
    tally.tests += len(cases)
    if outcomes["failure"] or outcomes["error"]:
        tally.succeeded.add(number)
    elif outcomes["passed"]:
        tally.contained.add(number)
    elif outcomes["skipped"]:
        tally.skipped[number] = cases[0].reason
    else:
        tally.untried.add(number)


def _print(tallies: dict[str, Tally], cases: list[Case], seconds: float) -> None:
    say(f"\n{'section':34}{'attacks':>8}{'tests':>7}{'contained':>11}{'skipped':>9}{'succeeded':>11}")
    for section, tally in tallies.items():
        attacks = len(NUMBERS[section])
        say(
            f"{section}  {SECTIONS[section]:31}{attacks:>8}{tally.tests:>7}{len(tally.contained):>11}"
            f"{len(tally.skipped):>9}{len(tally.succeeded) + len(tally.untried):>11}"
        )
    for section, tally in tallies.items():
        for number, reason in sorted(tally.skipped.items()):
            say(f"skipped    {section}{number}: {reason}")
        for number in sorted(tally.untried):
            say(f"NOT TRIED  {section}{number}: no test has this number")
    for reason, count in _partly_skipped(cases).most_common():
        say(f"skipped    {count} tests of attacks that others show: {reason}")
    for case in cases:
        if case.outcome in {"failure", "error"}:
            say(f"SUCCEEDED  {case.name}: {case.reason}")
    if worst := _worst(cases):
        say(
            f"under attack: slowest health answer {worst['health_seconds']:g} s, slowest cancel"
            f" {worst['cancel_seconds']:g} s, most resident memory {worst['resident_mb']:g} MB"
        )
    say(f"{len(cases)} tests in {seconds:.0f} s")


def _partly_skipped(cases: list[Case]) -> Counter[str]:
    passed = {attack for case in cases if case.outcome == "passed" for attack in attacks_of(case.name)}
    return Counter(
        case.reason.split(": ")[-1]
        for case in cases
        if case.outcome == "skipped" and not (set(attacks_of(case.name)) - passed)
    )


def _worst(cases: list[Case]) -> dict[str, float]:
    stormy = [case.figures for case in cases if len(case.figures) == len(_FIGURES)]
    return {name: max(each[name] for each in stormy) for name in _FIGURES} if stormy else {}


def _figures(tallies: dict[str, Tally], cases: list[Case], seconds: float, broken: bool) -> dict[str, object]:
    return {
        "attacks": sum(len(numbers) for numbers in NUMBERS.values()),
        "contained": sum(len(tally.contained) for tally in tallies.values()),
        "skipped": sum(len(tally.skipped) for tally in tallies.values()),
        "succeeded": sum(len(tally.succeeded) for tally in tallies.values()),
        "untried": sum(len(tally.untried) for tally in tallies.values()),
        "tests": len(cases),
        "passed": sum(case.outcome == "passed" for case in cases),
        **_worst(cases),
        "seconds": round(seconds),
        "ok": not broken,
    }


if __name__ == "__main__":
    sys.exit(main())
