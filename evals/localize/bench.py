"""`make bench-localize DATA=…`: how often the localizer's first files are those that real fixes touched."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evals.guard_sources import NotFetched
from evals.localize.cases import CACHE, Case, Trees, read_cases
from evals.localize.report import GROUPS, score_lines
from evals.localize.running import Job, predictions
from evals.localize.scoring import Prediction, score
from harness.localize import STRATEGIES

BAR = {"acc1": 0.61, "acc3": 0.80, "acc5": 0.87}
"""What the full strategy must reach on the development cases, a case or two below what it does reach."""

GROUP_BAR = {"unnamed1": 0.58, "unnamed3": 0.78, "unnamed5": 0.85, "two_files5": 0.60, "functions5": 0.58}
"""The same of some cases only; judged with --all, as a quarter of them is too few."""

QUICK = 4
"""Every which case is tried without --all; enough to see that something broke."""

QUICK_MARGIN = 0.12
WIDTH = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run strategies over development cases; 0 if the full one reaches the bar."""
    wanted = _parsed(arguments)
    try:
        cases = read_cases(wanted.data)[:: 1 if wanted.all else QUICK]
        trees = Trees(wanted.cache, wanted.archives)
        jobs = [Job(case, trees.tree(case), wanted.cache / "facts.sqlite") for case in cases]
    except (OSError, NotFetched) as error:
        print(f"the development cases cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return 2
    begun = time.monotonic()
    strategies = wanted.strategies.split(",")
    said: dict[str, dict[str, Prediction]] = {name: {} for name in strategies}
    for found in predictions(jobs, strategies):
        for name, prediction in found.items():
            said[name][prediction.case] = prediction
    if wanted.predictions is not None:
        _write(wanted.predictions, said)
    figures = _figures(cases, said)
    _show(cases, said)
    reached = "full" not in said or _reaches(figures["full"], _bars(cases, wanted))
    line = {
        "bench": "localize",
        "cases": len(cases),
        "ok": reached,
        "seconds": round(time.monotonic() - begun),
    }
    print(json.dumps({**line, "strategies": figures}))  # noqa: T201 - the one line of figures
    return 0 if reached else 1


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-localize", description=__doc__)
    parser.add_argument(
        "data", type=Path, help="the development cases: a directory with dev.jsonl, or a file"
    )
    parser.add_argument("--archives", type=Path, help="a directory that has the source distributions")
    parser.add_argument("--cache", type=Path, default=CACHE, help="a directory for sources and the index")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="names, comma separated")
    parser.add_argument("--all", action="store_true", help="every case, not one of four")
    parser.add_argument("--predictions", type=Path, help="a directory to write the rankings to")
    return parser.parse_args(arguments)


def _figures(
    cases: Sequence[Case], said: Mapping[str, Mapping[str, Prediction]]
) -> dict[str, dict[str, float]]:
    figures = {}
    for name, found in said.items():
        files = score(cases, found)
        unnamed = score(cases, found, chosen=GROUPS["does not name it"])
        two = score(cases, found, chosen=GROUPS["two files"])
        functions = score(cases, found, functions=True)
        figures[name] = {
            **{f"acc{k}": round(100 * files.all_of[k], 1) for k in (1, 3, 5)},
            **{f"unnamed{k}": round(100 * unnamed.all_of[k], 1) for k in (1, 3, 5)},
            "two_files5": round(100 * two.all_of[5], 1),
            "functions5": round(100 * functions.all_of[5], 1),
            "any5": round(100 * files.any_of[5], 1),
            "mrr": round(100 * files.mrr, 1),
            "slice_bytes": round(_mean([each.slice_bytes for each in found.values()])),
            "slice_share": round(
                _mean([e.slice_bytes / e.tree_bytes for e in found.values() if e.tree_bytes]), 5
            ),
            "seconds": round(_mean([each.seconds for each in found.values()]), 2),
        }
    return figures


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _bars(cases: Sequence[Case], wanted: argparse.Namespace) -> dict[str, float]:
    """Return what must be reached: of groups only where all cases are tried and the group has any."""
    if not wanted.all:
        return {name: bar - QUICK_MARGIN for name, bar in BAR.items()}
    there = {
        "unnamed": any(not case.names_the_file for case in cases),
        "two_files": any(len(case.files) == 2 for case in cases),
        "functions": any(case.functions for case in cases),
    }
    return BAR | {name: bar for name, bar in GROUP_BAR.items() if there[name.rstrip("0123456789")]}


def _reaches(figures: Mapping[str, float], bars: Mapping[str, float]) -> bool:
    return all(figures[name] / 100 >= bar for name, bar in bars.items())


def _show(cases: Sequence[Case], said: Mapping[str, Mapping[str, Prediction]]) -> None:
    console = Console(width=WIDTH)
    for name, found in said.items():
        table = Table(title=f"strategy {name}: shares at 1/3/5/10, in percent", show_header=False, box=None)
        for line in score_lines(cases, found):
            table.add_row(line)
        console.print(table)


def _write(folder: Path, said: Mapping[str, Mapping[str, Prediction]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in said.items():
        lines = [
            json.dumps(
                {"instance_id": each.case, "files": list(each.files), "functions": list(each.functions)}
            )
            for each in found.values()
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
