"""`python -m evals.localize.fitting`: fits the table of weights, and says what it is worth elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console

from evals.localize.cases import CACHE, Case, Trees, read_cases
from evals.localize.report import score_lines
from evals.localize.running import PROCESSES, Job, evidence, ranked_functions
from evals.localize.scoring import Prediction
from evals.localize.training import (
    Choice,
    file_choice,
    fit,
    learned,
    left_out,
    part_choice,
    surprise,
    with_weights,
)
from harness.localize.rank import rank
from harness.localize.weights import TABLE, Weight, Weights, read_weights


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit the weights of the full strategy on all cases; print the figures of each way of judging them."""
    wanted = _parsed(arguments)
    cases = read_cases(wanted.data)
    trees = Trees(wanted.cache, wanted.archives)
    jobs = [Job(case, trees.tree(case), wanted.cache / "facts.sqlite") for case in cases]
    old = read_weights()["full"]
    say = Console(width=150).print
    with ProcessPoolExecutor(PROCESSES) as pool:
        choices = list(pool.map(partial(file_choice, lines=learned(old.files)), jobs, chunksize=4))
        files, elsewhere = _fitted(choices, old.files)
        new = Weights(files, old.parts)
        judged = {name: Weights(lines, old.parts) for name, lines in elsewhere.items()}
        parts = list(pool.map(_parts_of, jobs, [judged] * len(jobs), chunksize=4))
        of_parts, parts_elsewhere = _fitted(parts, old.parts)
        new = Weights(files, of_parts)
        judged = {name: Weights(each.files, parts_elsewhere[name]) for name, each in judged.items()}
        both = list(pool.map(_said, jobs, [new] * len(jobs), [judged] * len(jobs), chunksize=4))
    say(f"surprise of files, fitted: {surprise(choices, [line.weight for line in learned(files)]):.3f}")
    _show(say, cases, "fitted", [pair[0] for pair in both])
    _show(say, cases, "left out", [pair[1] for pair in both])
    if wanted.write:
        _write(new)
    say({line.feature: line.weight for line in (*new.files, *new.parts)})
    return 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the development cases: a directory with dev.jsonl")
    parser.add_argument("--archives", type=Path, help="a directory that has the source distributions")
    parser.add_argument("--cache", type=Path, default=CACHE, help="a directory for sources and the index")
    parser.add_argument("--write", action="store_true", help="write the new weights into the table")
    return parser.parse_args(arguments)


def _fitted(
    choices: Sequence[Choice], lines: Sequence[Weight]
) -> tuple[tuple[Weight, ...], dict[str, tuple[Weight, ...]]]:
    """Return lines fitted on all cases, and for each repository those fitted on the others."""
    to_learn = learned(lines)
    untouched = [line for line in lines if line not in to_learn]
    elsewhere = left_out(choices, to_learn)
    return (
        with_weights(to_learn, fit(choices, to_learn), untouched),
        {name: with_weights(to_learn, values, untouched) for name, values in elsewhere.items()},
    )


def _parts_of(job: Job, judged: dict[str, Weights]) -> Choice:
    weights = judged[job.case.repository]
    return part_choice(job, learned(weights.parts), weights)


def _said(job: Job, new: Weights, judged: dict[str, Weights]) -> tuple[Prediction, Prediction]:
    corpus, features = evidence(job)
    rankings = [rank(corpus, features, weights) for weights in (new, judged[job.case.repository])]
    fitted, elsewhere = (
        Prediction(
            case=job.case.id,
            files=[corpus.files[item.file].path for item in ranking.files[:50]],
            functions=ranked_functions(ranking),
        )
        for ranking in rankings
    )
    return fitted, elsewhere


def _show(say: object, cases: Sequence[Case], name: str, said: Sequence[Prediction]) -> None:
    assert callable(say)
    by_case = {prediction.case: prediction for prediction in said}
    for line in score_lines(cases, by_case):
        say(f"{name:10s} {line}")


def _write(weights: Weights) -> None:
    """Write the table anew, one line for each weight."""
    read = json.loads(TABLE.read_text("utf-8"))
    for of, lines in (("files", weights.files), ("parts", weights.parts)):
        read["full"][of] = [[line.feature, line.form.value, line.weight] for line in lines]
    blocks = []
    for name, table in read.items():
        inner = []
        for of, lines in table.items():
            rows = ",\n".join(f"      {json.dumps(line)}" for line in lines)
            inner.append(f'    "{of}": [\n{rows}\n    ]')
        blocks.append(f'  "{name}": {{\n' + ",\n".join(inner) + "\n  }")
    TABLE.write_text("{\n" + ",\n".join(blocks) + "\n}\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
