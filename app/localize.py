"""`fixwright localize`: where a fix belongs in a checked-out repository, on the terminal or as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from domain.errors import ConfigurationError
from domain.model import Localization, Suspect
from domain.text import plain
from harness.localize import FaultLocalizer

LONGEST_INPUT = 2**20
"""Bytes of an issue or an output that are read."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a repository, an issue (None: standard input), a failing test's output, and how much."""

    repository: Path
    issue: Path | None
    failing_output: Path | None
    top: int
    budget: int


def answer(question: Question, *, as_json: bool) -> str:
    """Return the answer as text. Raises ConfigurationError for what cannot be read or is not known."""
    if not question.repository.is_dir():
        raise ConfigurationError(f"--repo: {question.repository} is no directory")
    localizer = FaultLocalizer(most=question.top)
    issue = _read("--issue", question.issue) if question.issue else _typed()
    failing = _read("--failing-output", question.failing_output) if question.failing_output else ""
    found = localizer.localize(question.repository.resolve(), issue, failing, question.budget)
    return _as_json(found) if as_json else _as_lines(found)


def _read(option: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(LONGEST_INPUT).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigurationError(f"{option}: {file} cannot be read: {error.strerror}") from error


def _typed() -> str:
    """Read the issue from standard input, whatever its encoding; who sits at a terminal is told to type."""
    if sys.stdin.isatty():
        sys.stderr.write("The issue, title first; Ctrl-D ends it:\n")
    return sys.stdin.buffer.read(LONGEST_INPUT).decode("utf-8", "replace")


def _as_json(found: Localization) -> str:
    said = {
        "strategy": found.strategy,
        "seconds": round(found.seconds, 3),
        "suspects": [asdict(suspect) for suspect in found.suspects],
        "slices": found.slices,
    }
    return json.dumps(said, indent=2) + "\n"


def _as_lines(found: Localization) -> str:
    if not found.suspects:
        return "Nothing in this repository matches.\n"
    lines = [
        f"{_place(suspect):60s} {100 * suspect.score:5.1f} %  {suspect.why}" for suspect in found.suspects
    ]
    shown = "\n".join([*lines, f"({found.strategy}, {found.seconds:.1f} s, no model asked)", ""])
    return plain(f"{shown}\n{found.slices}" if found.slices else shown)


def _place(suspect: Suspect) -> str:
    return f"{suspect.path}:{suspect.first_line} {suspect.symbol}" if suspect.first_line else suspect.path
