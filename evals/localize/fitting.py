"""`python -m evals.localize.fitting`: fits the table of weights, and says what it is worth elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path

from rich.console import Console

from evals.guard_sources import NotFetched
from evals.localize.cases import CACHE, Case, Trees, read_cases
from evals.localize.kept_evidence import kept_evidence
from evals.localize.report import score_lines
from evals.localize.running import PROCESSES, Job, ranked_functions
from evals.localize.scoring import Prediction, score
from evals.localize.training import (
    FILE_RIDGE,
    PART_RIDGE,
    Choice,
    file_choice,
    fit,
    fit_without,
    learned,
    part_choice,
    surprise,
    with_weights,
)
from harness.localize.rank import rank
from harness.localize.weights import TABLE, Weight, Weights, read_weights

STRATEGY = "full"


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit the weights of the full strategy on all cases; print the figures of each way of judging them."""
    wanted = _parsed(arguments)
    try:
        cases = read_cases(wanted.data)
        trees = Trees(wanted.cache, wanted.archives)
        jobs = [Job(case, trees.tree(case), wanted.cache / "facts.sqlite") for case in cases]
    except (OSError, NotFetched) as error:
        print(f"the development cases cannot be read: {error}", file=sys.stderr)  # noqa: T201
        return 2
    old = read_weights()[STRATEGY]
    folder = wanted.cache / "evidence"
    with ProcessPoolExecutor(PROCESSES) as pool:
        if wanted.without:
            figures: Mapping[str, object] = _ablation(pool, jobs, old, folder)
        else:
            new, elsewhere, surprises = _fit_all(pool, jobs, old, folder)
            said = list(pool.map(partial(_said, folder=folder, new=new), jobs, _judges(jobs, elsewhere)))
            figures = {"surprise": surprises, **_show(cases, said)}
            if wanted.write:
                _write(new, wanted.table)
    print(json.dumps({"bench": "localize-fitting", "cases": len(cases), **figures}))  # noqa: T201
    return 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.localize.fitting", description=__doc__)
    parser.add_argument("data", type=Path, help="the development cases: a directory with dev.jsonl")
    parser.add_argument("--archives", type=Path, help="a directory that has the source distributions")
    parser.add_argument("--cache", type=Path, default=CACHE, help="a directory for sources and evidence")
    parser.add_argument("--write", action="store_true", help="write the new weights into the table")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table to write")
    parser.add_argument("--without", action="store_true", help="fit without each feature of files in turn")
    return parser.parse_args(arguments)


def _fit_all(
    pool: Executor, jobs: Sequence[Job], old: Weights, folder: Path
) -> tuple[Weights, dict[str, Weights], dict[str, float]]:
    """Return weights fitted on all, those fitted without each repository, and the surprise of each kind."""
    choices = list(pool.map(partial(_file_choice, folder=folder, lines=learned(old.files)), jobs))
    files, files_elsewhere, of_files = _fitted(pool, choices, old.files, FILE_RIDGE)
    judged = {name: Weights(lines, old.parts) for name, lines in files_elsewhere.items()}
    part_of = partial(_part_choice, folder=folder, lines=learned(old.parts))
    choices = list(pool.map(part_of, jobs, _judges(jobs, judged)))
    parts, parts_elsewhere, of_parts = _fitted(pool, choices, old.parts, PART_RIDGE)
    elsewhere = {name: Weights(lines, parts_elsewhere[name]) for name, lines in files_elsewhere.items()}
    return Weights(files, parts), elsewhere, {"files": of_files, "parts": of_parts}


def _judges(jobs: Sequence[Job], judged: Mapping[str, Weights]) -> list[Weights]:
    return [judged[job.case.repository] for job in jobs]


def _file_choice(job: Job, *, folder: Path, lines: Sequence[Weight]) -> Choice:
    return file_choice(job.case, kept_evidence(job, folder), lines)


def _part_choice(job: Job, judge: Weights, *, folder: Path, lines: Sequence[Weight]) -> Choice:
    return part_choice(job.case, kept_evidence(job, folder), lines, judge)


def _fitted(
    pool: Executor, choices: Sequence[Choice], lines: Sequence[Weight], ridge: float
) -> tuple[tuple[Weight, ...], dict[str, tuple[Weight, ...]], float]:
    """Return lines fitted on all cases, for each repository those of the others, and what surprises those."""
    to_learn = learned(lines)
    untouched = [line for line in lines if line not in to_learn]
    begin = fit(choices, to_learn, ridge)
    names = sorted({choice.repository for choice in choices})
    found = pool.map(fit_without, names, repeat(choices), repeat(to_learn), repeat(ridge), repeat(begin))
    values = dict(zip(names, found, strict=True))
    known = [choice for choice in choices if choice.right]
    unseen = sum(surprise([choice], values[choice.repository]) for choice in known) / max(1, len(known))
    elsewhere = {name: with_weights(to_learn, each, untouched) for name, each in values.items()}
    return with_weights(to_learn, begin, untouched), elsewhere, round(unseen, 4)


def _said(job: Job, judge: Weights, *, folder: Path, new: Weights) -> tuple[Prediction, Prediction]:
    corpus, features = kept_evidence(job, folder)
    rankings = [rank(corpus, features, weights) for weights in (new, judge)]
    fitted, elsewhere = (
        Prediction(
            case=job.case.id,
            files=[corpus.files[item.file].path for item in ranking.files[:50]],
            functions=ranked_functions(ranking),
        )
        for ranking in rankings
    )
    return fitted, elsewhere


def _show(
    cases: Sequence[Case], said: Sequence[tuple[Prediction, Prediction]]
) -> dict[str, dict[str, float]]:
    """Print the figures of both ways of judging; return the main ones, and how far they lie apart."""
    console = Console(width=150)
    figures: dict[str, dict[str, float]] = {}
    for number, name in enumerate(("fitted", "left out")):
        by_case = {pair[number].case: pair[number] for pair in said}
        for line in score_lines(cases, by_case):
            console.print(f"{name:10s} {line}")
        files, functions = score(cases, by_case), score(cases, by_case, functions=True)
        figures[name] = {f"acc{k}": round(100 * files.all_of[k], 1) for k in (1, 3, 5)}
        figures[name]["functions5"] = round(100 * functions.all_of[5], 1)
    figures["gap"] = {
        each: round(figures["fitted"][each] - figures["left out"][each], 1) for each in figures["fitted"]
    }
    return figures


def _ablation(pool: Executor, jobs: Sequence[Job], old: Weights, folder: Path) -> dict[str, dict[str, float]]:
    """Print and return, for each feature of files, what is left without it, on repositories not seen."""
    console = Console(width=150)
    lines = learned(old.files)
    whole = list(pool.map(partial(_file_choice, folder=folder, lines=lines), jobs))
    figures = {}
    for gone in range(-1, len(lines)):
        name = lines[gone].feature if gone >= 0 else "(nothing)"
        choices = [choice.without(gone) for choice in whole] if gone >= 0 else whole
        kept = [line for number, line in enumerate(lines) if number != gone]
        _, elsewhere, unseen = _fitted(pool, choices, kept, FILE_RIDGE)
        weights = {each: [line.weight for line in found] for each, found in elsewhere.items()}
        places = [choice.last_place(weights[choice.repository]) for choice in choices]
        shares = {f"acc{k}": round(100 * sum(p <= k for p in places) / len(places), 1) for k in (1, 3, 5)}
        figures[name] = {"surprise": unseen, **shares}
        console.print(f"without {name:22s} {figures[name]}")
    return figures


def _write(weights: Weights, table: Path) -> None:
    """Write the table anew, one line for each weight."""
    read = json.loads(TABLE.read_text("utf-8"))
    for of, lines in (("files", weights.files), ("parts", weights.parts)):
        read[STRATEGY][of] = [[line.feature, line.form.value, line.weight] for line in lines]
    blocks = []
    for name, strategy in read.items():
        inner = []
        for of, lines in strategy.items():
            rows = ",\n".join(f"      {json.dumps(line)}" for line in lines)
            inner.append(f'    "{of}": [\n{rows}\n    ]')
        blocks.append(f'  "{name}": {{\n' + ",\n".join(inner) + "\n  }")
    table.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
