"""`fixwright localize`: where a fix belongs in a checked-out repository, on the terminal or as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from app.log import warnings_on_stderr
from domain.errors import ConfigurationError
from domain.model import Localization, Suspect
from domain.text import one_line, plain
from harness.localize import FaultLocalizer

LONGEST_INPUT = 2**20
"""Bytes of an issue or an output that are read."""

_WIDEST = 60
"""Columns for places; a longer one pushes its reason to the right."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a repository, an issue, a failing test's output, and how much.

    `issue` is a file or an address, None for standard input.
    """

    repository: Path
    issue: str | None
    failing_output: Path | None
    top: int
    budget: int


@warnings_on_stderr()
def answer(question: Question, *, as_json: bool) -> str:
    """Return the answer as text. Raises ConfigurationError for what cannot be read or is not known."""
    if not question.repository.is_dir():
        raise ConfigurationError(f"--repo: {question.repository} is no directory")
    localizer = FaultLocalizer(most=question.top)
    failing = _read("--failing-output", question.failing_output) if question.failing_output else ""
    issue = _issue(question.issue)
    if not issue.strip() and not failing.strip():
        raise ConfigurationError("--issue: is empty; give the bug's report, its title on the first line")
    found = localizer.localize(question.repository.resolve(), issue, failing, question.budget)
    return _as_json(found) if as_json else _as_lines(found)


def _issue(given: str | None) -> str:
    if given is None:
        return _typed()
    from app.issue_address import is_address, issue_text

    return issue_text(given) if is_address(given) else _read("--issue", Path(given))


def _read(option: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(LONGEST_INPUT).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{option}: {one_line(str(file), 200)} cannot be read: {why}") from error


def _typed() -> str:
    """Read the issue from standard input, whatever its encoding; who sits at a terminal is told to type."""
    if sys.stdin.isatty():
        sys.stderr.write("The issue, title first; Ctrl-D ends it:\n")
    return sys.stdin.buffer.read(LONGEST_INPUT).decode("utf-8", "replace")


def relative_scores(found: Localization) -> list[float]:
    """Return each suspect's score as a ratio to the best one's, 0 to 1."""
    best = max((suspect.score for suspect in found.suspects), default=0.0)
    return [round(suspect.score / best, 4) if best else 0.0 for suspect in found.suspects]


def _as_json(found: Localization) -> str:
    said = {
        "strategy": found.strategy,
        "seconds": round(found.seconds, 3),
        "suspects": [
            {**asdict(suspect), "relative": ratio}
            for suspect, ratio in zip(found.suspects, relative_scores(found), strict=True)
        ],
        "slices": found.slices,
    }
    return json.dumps(said, indent=2) + "\n"


def _as_lines(found: Localization) -> str:
    if not found.suspects:
        return "Nothing in this repository matches.\n"
    places = [_place(suspect) for suspect in found.suspects]
    width = min(max(map(len, places)), _WIDEST)
    lines = [
        f"{_percent(ratio)}  {place:{width}s}  {suspect.why}".rstrip()
        for place, ratio, suspect in zip(places, relative_scores(found), found.suspects, strict=True)
    ]
    lines.append(f"(relative to the best; {found.strategy}, {found.seconds:.1f} s, no model asked)")
    shown = "\n".join([*lines, ""])
    return plain(f"{shown}\n{found.slices}" if found.slices else shown)


def _percent(ratio: float) -> str:
    return f"{100 * ratio:3.0f} %" if ratio >= 0.01 else " <1 %"


def _place(suspect: Suspect) -> str:
    return f"{suspect.path}:{suspect.first_line} {suspect.symbol}" if suspect.first_line else suspect.path
