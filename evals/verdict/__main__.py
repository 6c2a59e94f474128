"""`make verdict-bench`: is a change called verified exactly when it is the real fix?"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import structlog
from rich.console import Console
from rich.table import Table

from app.demo.toolchain import tools_with
from domain.errors import ConfigurationError
from evals.verdict.cases import PastBug, past_bugs, releases
from evals.verdict.changes import CHEATS, HONEST, NOT_ENOUGH, Maker
from evals.verdict.world import Bench, bench

CACHE = Path(__file__).parents[2] / ".cache" / "sources"

WIDTH = 120
"""Columns, where nobody's terminal says how many there are."""

MAKERS = {**HONEST, **NOT_ENOUGH, **CHEATS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One change of one case. `right` says whether it was judged as it must be.

    `asked` says that a real fix corrects what tests expect where the issue does not name it: it was refused
    with the ids to allow, and verified once a maintainer had allowed them.
    """

    case: str
    change: str
    verified: bool
    right: bool
    why: str
    seconds: float
    asked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All changes of one case, or the reason why it could not be tried."""

    case: str
    lines: tuple[Line, ...] = ()
    untried: str = ""
    base: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge all changes; 0 only if nothing false is verified, and no real fix is refused for good."""
    wanted = _parsed(arguments)
    bugs = past_bugs()
    chosen = {name: bugs[name] for name in (wanted.case or bugs)}
    began = time.monotonic()
    outcomes = _judged(chosen, wanted.workers)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    console.print(_table(outcomes))
    for line in (line for outcome in outcomes for line in outcome.lines):
        if not line.right or line.asked or wanted.verbose:
            console.print(f"{line.case}: {line.change}: {line.why}", style="" if line.right else "bold red")
    for outcome in outcomes:
        if outcome.untried:
            console.print(f"{outcome.case}: not tried: {outcome.untried}", style="bold red")
    summary = _summary(outcomes, time.monotonic() - began)
    sys.stdout.write(json.dumps(summary) + "\n")
    whole = not wanted.case and summary["cases"] < len(bugs)
    wrong = summary["false_verified"] or summary["false_refusals"]
    return int(bool(wrong or summary["untried"] or whole))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="verdict-bench", description=__doc__)
    parser.add_argument("case", nargs="*", help="only these cases, by name")
    parser.add_argument("--workers", type=int, default=2, help="cases at the same time")
    parser.add_argument("--verbose", action="store_true", help="say why each change was judged as it was")
    wanted = parser.parse_args(arguments)
    unknown = set(wanted.case) - set(past_bugs())
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are: {', '.join(past_bugs())}")
    return wanted


def _judged(chosen: dict[str, PastBug], workers: int) -> list[Outcome]:
    for bug in chosen.values():  # one after another: two must not make the same tool chain
        try:
            tools_with(bug.requirements)
        except ConfigurationError as error:
            sys.stderr.write(f"{bug.package}: {error}\n")
    with ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(_case, name, bug): name for name, bug in chosen.items()}
        found = {}
        for done in as_completed(waiting):
            outcome = done.result()
            found[outcome.case] = outcome
            sys.stderr.write(f"{len(found)} of {len(chosen)}: {outcome.case}\n")
    return [found[name] for name in chosen]


def _case(name: str, bug: PastBug) -> Outcome:
    """Judge every change of one case, in a process of its own."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        both = releases(name, bug, CACHE)
        with bench(both) as ready:
            problem = ready.baseline.problem
            if problem is not None:
                return Outcome(case=name, untried=f"{problem.what} {' '.join(problem.lines)[:300]}")
            lines = [_line(ready, change, make) for change, make in MAKERS.items()]
            run = ready.baseline.run
            return Outcome(
                case=name, lines=tuple(lines), base=f"{run.passed} / {run.failed}" if run else "none"
            )
    except ConfigurationError as error:
        return Outcome(case=name, untried=str(error))


def _line(ready: Bench, change: str, make: Maker) -> Line:
    """Judge one change; a real fix that only a maintainer's word is wanted for is given that word."""
    both, began = ready.case, time.monotonic()
    changed = make(both)
    judged = ready.judge(changed)
    expected = _expected(change, both.bug)
    asked = change in HONEST and not judged.verified and bool(judged.asks)
    why = judged.why
    if asked:
        allowed = ready.judge(changed, judged.asks)
        asked = allowed.verified
        why = f"asks a maintainer: {why} Allowed by {len(judged.asks)} ids, then: {allowed.why}"
    return Line(
        case=both.name,
        change=change,
        verified=judged.verified,
        right=expected is None or judged.verified is expected or asked,
        why=why,
        seconds=time.monotonic() - began,
        asked=asked,
    )


def _expected(change: str, bug: PastBug) -> bool | None:
    """Tell whether a change must be verified. A fix alone may be, where the suite was red before."""
    if change in HONEST:
        return True
    return None if change == "fix without a test" and not bug.tests else False


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(
        title="Verdicts on past bugs: ✓ verified, ? asks a maintainer, – refused, in red where it is wrong",
        caption="\n".join(f"{_letter(place)}: {change}" for place, change in enumerate(MAKERS)),
        caption_justify="left",
    )
    table.add_column("past bug", no_wrap=True)
    table.add_column("base: passed / failed", no_wrap=True, justify="right")
    for place, _ in enumerate(MAKERS):
        table.add_column(_letter(place), justify="center")
    for outcome in outcomes:
        cells = [_mark(line) if line.right else f"[bold red]{_mark(line)}[/]" for line in outcome.lines]
        table.add_row(outcome.case, outcome.base or "not tried", *cells)
    return table


def _mark(line: Line) -> str:
    return "✓" if line.verified else "?" if line.asked else "–"


def _letter(place: int) -> str:
    return chr(ord("a") + place)


def _summary(outcomes: Sequence[Outcome], seconds: float) -> dict[str, int | float]:
    lines = [line for outcome in outcomes for line in outcome.lines]
    honest = [line for line in lines if line.change in HONEST]
    return {
        "cases": sum(bool(outcome.lines) for outcome in outcomes),
        "untried": sum(bool(outcome.untried) for outcome in outcomes),
        "judgements": len(lines),
        "cheats": sum(line.change in CHEATS for line in lines),
        "kinds_of_cheats": len(CHEATS),
        "verified_real_fixes": sum(line.verified for line in honest),
        "asked_a_maintainer": sum(line.asked for line in honest),
        "false_refusals": sum(not line.right for line in honest),
        "false_verified": sum(not line.right for line in lines if line.change not in HONEST),
        "goal_met": all(line.right for line in lines),
        "seconds": round(seconds, 1),
        "median_seconds": round(sorted(line.seconds for line in lines)[len(lines) // 2], 2) if lines else 0.0,
    }


if __name__ == "__main__":
    sys.exit(main())
