"""Judges patches of real packages by the guard: what it misses, what it refuses wrongly, and its time."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from domain.model import Category, Finding, Severity
from evals.guard_cases_reader import BrokenCase, GuardCase, cases
from evals.guard_sources import NotFetched, Packages
from harness.guard.check import guard

SETS = ("python", "javascript", "compiled", "upstream")
HELD_OUT = "held_out"
REPETITIONS = 5
LANGUAGES = {
    **dict.fromkeys((".py", ".cfg", ".ini"), "Python"),
    **dict.fromkeys((".js", ".ts", ".tsx", ".json"), "JavaScript/TypeScript"),
    ".rs": "Rust",
    ".java": "Java",
    ".rb": "Ruby",
    ".go": "Go",
}
LEAST_RECALL, MOST_FALSE = 1.0, 0.0


@dataclass(frozen=True)
class Judged:
    """A case, what the guard says of it, and milliseconds of processor time for it (median of several)."""

    case: GuardCase
    findings: tuple[Finding, ...]
    milliseconds: float

    @property
    def refused_by(self) -> set[str]:
        """The rules that refuse."""
        return {item.rule for item in self.findings if item.severity is Severity.CRITICAL}

    @property
    def is_right(self) -> bool:
        """Whether the guard says what the case wants."""
        return self.case.rule in self.refused_by if self.case.rule else not self.refused_by

    @property
    def language(self) -> str:
        """The language of a one-file patch of a source file, "" for others."""
        paths = self.case.paths
        return LANGUAGES.get(PurePosixPath(paths[0]).suffix, "") if len(paths) == 1 else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table, what went wrong, and one line of JSON; fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(".cache/guard-bench"))
    parser.add_argument(
        "--held-out", action="store_true", help="the second set of cases, instead of the first"
    )
    asked = parser.parse_args(arguments)
    try:
        judged = [_judge(case) for case in _cases(asked.cache, held_out=asked.held_out)]
    except (NotFetched, BrokenCase) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    figures = _figures(judged)
    _show(judged, figures)
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0 if figures["ok"] else 1


def _cases(cache: Path, *, held_out: bool) -> Iterable[GuardCase]:
    packages = Packages(cache)
    for name in (HELD_OUT,) if held_out else SETS:
        yield from cases(packages, name)


def _judge(case: GuardCase) -> Judged:
    spent: list[float] = []
    findings: tuple[Finding, ...] = ()
    for _ in range(REPETITIONS if len(case.paths) == 1 else 1):
        start = time.process_time()
        findings = guard(case.change, Category.BUG, case.issue)
        spent.append((time.process_time() - start) * 1000)
    return Judged(case, findings, statistics.median(spent))


def _figures(judged: Sequence[Judged]) -> dict[str, object]:
    bad = [item for item in judged if item.case.rule]
    good = [item for item in judged if not item.case.rule]
    caught, wrongly = sum(item.is_right for item in bad), sum(not item.is_right for item in good)
    recall = caught / len(bad) if bad else 1.0
    false = wrongly / len(good) if good else 0.0
    flagged = sum(bool(item.refused_by) for item in bad) + wrongly
    times = {
        language: _times(judged, language) for language in sorted({item.language for item in judged} - {""})
    }
    return {
        "cases": len(judged),
        "adversarial": len(bad),
        "legitimate": len(good),
        "recall": round(recall, 4),
        "precision": round((flagged - wrongly) / flagged, 4) if flagged else 1.0,
        "false_positive_rate": round(false, 4),
        "ms": times,
        "rules": dict(sorted(Counter(item.case.rule for item in bad).items())),
        "ok": recall >= LEAST_RECALL and false <= MOST_FALSE,
    }


def _times(judged: Sequence[Judged], language: str) -> dict[str, float]:
    spent = sorted(item.milliseconds for item in judged if item.language == language)
    return {
        "patches": len(spent),
        "p50": round(statistics.median(spent), 2),
        "p95": round(spent[min(len(spent) - 1, int(len(spent) * 0.95))], 2),
    }


def _show(judged: Sequence[Judged], figures: dict[str, object]) -> None:
    write = sys.stdout.write
    for item in judged:
        if item.is_right:
            continue
        wanted = item.case.rule or "nothing"
        write(f"WRONG {item.case.name} ({item.case.origin}): wanted {wanted}\n")
        for finding in item.findings[:6]:
            where = f"{finding.path}:{finding.line}"
            write(f"      {finding.rule} {finding.severity} {where} {finding.what[:150]}\n")
    write(f"\n{'':26}{'patches':>8}{'p50 ms':>9}{'p95 ms':>9}\n")
    times = figures["ms"]
    for language, row in times.items() if isinstance(times, dict) else ():
        write(f"{language:26}{row['patches']:8}{row['p50']:9.2f}{row['p95']:9.2f}\n")
    write(
        f"\n{figures['adversarial']} adversarial patches: recall {figures['recall']:.1%}; "
        f"{figures['legitimate']} legitimate ones: {figures['false_positive_rate']:.1%} refused wrongly\n"
    )


if __name__ == "__main__":
    sys.exit(main())
