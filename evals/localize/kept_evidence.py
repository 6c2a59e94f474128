"""Evidence of a case, worked out once: kept on disk until the case or the localizer's code changes."""

from __future__ import annotations

import hashlib
import pickle
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evals.localize.cases import Case
from evals.localize.running import Job, evidence
from harness.localize.corpus import Corpus
from harness.localize.features import Features

ROOT = Path(__file__).parents[2]
CODE = ("harness/localize", "harness/syntax", "harness/testing")
"""Whatever evidence depends on: of the first, all but the weights."""


def kept_evidence(job: Job, folder: Path) -> tuple[Corpus, Features]:
    """Return a case's evidence as kept, or work it out and keep it; the corpus has no terms and imports.

    The folder is the caller's own: what lies in it is trusted like code.
    """
    file = folder / f"{_key(job.case)}.evidence"
    try:
        kept: tuple[Corpus, Features] = pickle.loads(zlib.decompress(file.read_bytes()))
        return kept
    except (OSError, zlib.error, pickle.UnpicklingError, EOFError):
        corpus, features = evidence(job)
    corpus = Corpus(
        [replace(each, imports=[], bases={}) for each in corpus.files], corpus.parts, corpus.file_of, {}
    )
    features = Features(
        {name: dict(scores) for name, scores in features.files.items()},
        {name: dict(scores) for name, scores in features.parts.items()},
    )
    folder.mkdir(parents=True, exist_ok=True)
    arriving = file.with_suffix(f".{job.case.id.replace('/', '_')}.arriving")
    arriving.write_bytes(zlib.compress(pickle.dumps((corpus, features)), 1))
    arriving.rename(file)
    return corpus, features


def _key(case: Case) -> str:
    digest = hashlib.sha256(repr(case).encode())
    for file in _code():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _code() -> Iterator[Path]:
    for folder in CODE:
        yield from sorted((ROOT / folder).glob("*.py"))
