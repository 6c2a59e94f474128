"""`make crash`: SIGKILL at named steps and at random instants of whole runs, then a look at what is left."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

import structlog
from rich.console import Console
from rich.table import Table

from evals.crash.journeys import JOURNEYS
from evals.crash.plans import chosen_steps, every_step, random_instants
from evals.crash.runs import Plan, Result, play, prepare

SHORT_RUNS = 12
SHORT_SECONDS = 44.0
"""After this no further run is begun in the short form."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove it; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=SHORT_RUNS, help="random instants")
    parser.add_argument("--every", action="store_true", help="die at every named step, not at a choice")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fixwright-crash-worlds-") as directory:
        templates = Path(directory)
        templates.chmod(0o711)
        prepare(templates, JOURNEYS)
        quiet = [
            play(Plan(journey=journey, deaths={}, what="nobody dies"), templates) for journey in JOURNEYS
        ]
        plans = _plans(quiet, options)
        deadline = None if options.every else began + SHORT_SECONDS
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            results = list(pool.imap_unordered(partial(_play, templates, deadline), plans))
    done = [*quiet, *(result for result in results if result is not None)]
    _show(done)
    return _verdict(done, skipped=results.count(None), seed=options.seed, began=began)


def _plans(quiet: Sequence[Result], options: argparse.Namespace) -> list[Plan]:
    """Mix the journeys and the kinds, so that what a deadline cuts off is not always the same one's."""
    choose = every_step if options.every else chosen_steps
    instants = random_instants(quiet, runs=options.runs, seed=options.seed, short=not options.every)
    heaps = [list(instants), *(list(choose(result)) for result in quiet)]
    placed = [(place / len(heap), plan) for heap in heaps for place, plan in enumerate(heap)]
    return [plan for _, plan in sorted(placed, key=itemgetter(0))]


def _play(templates: Path, deadline: float | None, plan: Plan) -> Result | None:
    if deadline is not None and time.monotonic() > deadline:
        return None
    return play(plan, templates)


def _show(results: Sequence[Result]) -> None:
    table = Table("journey", "deaths", "runs", "kills", "violations", "steps lost", "most in a run")
    for journey in JOURNEYS:
        for kind in ("none", "named step", "random instant"):
            found = [each for each in results if each.plan.journey == journey and _kind(each.plan) == kind]
            if found:
                table.add_row(
                    journey.name,
                    kind,
                    str(len(found)),
                    str(sum(each.kills for each in found)),
                    str(sum(bool(each.problems) for each in found)),
                    str(sum(each.lost for each in found)),
                    str(max(each.lost for each in found)),
                )
    console = Console(file=sys.stdout, width=110)
    console.print(table)
    for result in results:
        for problem in result.problems:
            console.print(f"{result.plan.journey.name}, {result.plan.what}: {problem}", markup=False)


def _kind(plan: Plan) -> str:
    if not plan.deaths:
        return "none"
    return "random instant" if any(each.after is not None for each in plan.deaths.values()) else "named step"


def _verdict(results: Sequence[Result], *, skipped: int, seed: int, began: float) -> int:
    violations = sum(bool(result.problems) for result in results)
    figures = {
        "runs": len(results),
        "kills": sum(result.kills for result in results),
        "named_steps": sum(_kind(result.plan) == "named step" for result in results),
        "random_instants": sum(_kind(result.plan) == "random instant" for result in results),
        "violations": violations,
        "steps_lost": sum(result.lost for result in results),
        "most_steps_lost_per_kill": max(
            (result.lost / result.kills for result in results if result.kills), default=0.0
        ),
        "skipped_for_time": skipped,
        "seed": seed,
        "seconds": round(time.monotonic() - began, 1),
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
