"""Runs strategies over cases, in two processes: one reading of a case's tree serves all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from evals.localize.cases import Case
from evals.localize.scoring import Prediction
from harness.localize.corpus import Corpus, read_corpus
from harness.localize.features import Features, collect, wanted_terms
from harness.localize.kept_facts import FactsKeeper
from harness.localize.query import read_query
from harness.localize.rank import Ranking, rank
from harness.localize.reading import Shelf
from harness.localize.slices import cut_slices
from harness.localize.weights import read_weights

PROCESSES = 2
KEPT = 50
TOKENS = 6000
"""The budget for slices that an attempt has."""

PATIENCE = 3600.0
"""Seconds that a tree may take to be read: figures must not depend on how busy the machine is."""


@dataclass(frozen=True, slots=True)
class Job:
    """A case, its sources, and where facts are kept."""

    case: Case
    tree: Path
    index: Path


def evidence(job: Job) -> tuple[Corpus, Features]:
    """Return a case's corpus and all that is known of it for the issue."""
    query = read_query(job.case.issue)
    corpus = read_corpus(job.tree, wanted_terms(query), Shelf(FactsKeeper(job.index), PATIENCE))
    return corpus, collect(corpus, query)


def predict(job: Job, strategies: Sequence[str]) -> dict[str, Prediction]:
    """Return what each strategy says of a case."""
    started = time.perf_counter()
    corpus, features = evidence(job)
    reading = time.perf_counter() - started
    weights = read_weights()
    said: dict[str, Prediction] = {}
    for name in strategies:
        begun = time.perf_counter()
        if name == "null":
            said[name] = Prediction(case=job.case.id, files=(), functions=())
            continue
        ranking = rank(corpus, features, weights[name])
        slices = cut_slices(job.tree, ranking, TOKENS)
        said[name] = Prediction(
            case=job.case.id,
            files=[corpus.files[item.file].path for item in ranking.files[:KEPT]],
            functions=ranked_functions(ranking),
            seconds=reading + time.perf_counter() - begun,
            slice_bytes=len(slices.encode()),
            tree_bytes=sum(file.size for file in corpus.files),
        )
    return said


def ranked_functions(ranking: Ranking) -> list[str]:
    """Return the best definitions as "path:Class.method"."""
    corpus = ranking.corpus
    return [
        f"{corpus.files[corpus.file_of[item.part]].path}:{corpus.parts[item.part].qualified}"
        for item in ranking.parts[:KEPT]
    ]


def predictions(jobs: Sequence[Job], strategies: Sequence[str]) -> Iterator[dict[str, Prediction]]:
    """Yield what is said of every case, in their order."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        yield from pool.map(predict, jobs, [strategies] * len(jobs), chunksize=4)
