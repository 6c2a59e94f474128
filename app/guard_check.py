"""`fixwright guard check`: a patch or a range of commits judged by the guard, for people and programs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from app.log import warnings_on_stderr
from domain.errors import ConfigurationError, GitError
from domain.model import Category, Finding
from domain.text import one_line
from harness.git.borrowed import Checkout, looking_at
from harness.git.patching import LARGEST_PATCH
from harness.integrity import Judged, Purpose, judge_patch, judge_range

CLEAN, REFUSED = 0, 1
"""Exit statuses; what cannot be read or does not fit is 2, like every wrong use."""

LARGEST_ISSUE = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to judge: `diff` is a file, `-`, or a range of commits; `issue` a file with the issue's text."""

    diff: str
    repository: Path
    category: Category
    issue: Path | None = None


@warnings_on_stderr()
def check(question: Question, *, as_json: bool) -> tuple[str, int]:
    """Return what speaks against a change, as text, and the exit status. Raises ConfigurationError."""
    if not question.repository.is_dir():
        raise ConfigurationError(f"--repo: {question.repository} is no directory")
    issue_text = _read(question.issue, LARGEST_ISSUE).decode("utf-8", "replace") if question.issue else ""
    purpose = Purpose(category=question.category, issue_text=issue_text)
    try:
        with looking_at(question.repository) as checkout:
            judged = _judged(checkout, question.diff, purpose)
    except GitError as error:
        raise ConfigurationError(
            f"{one_line(question.diff, 200)}: {why_not(error, question.repository)}"
        ) from None
    said = _as_json(judged) if as_json else _as_lines(judged)
    return said, REFUSED if judged.refused else CLEAN


def _judged(checkout: Checkout, diff: str, purpose: Purpose) -> Judged:
    if diff == "-":
        return judge_patch(checkout, sys.stdin.buffer.read(LARGEST_PATCH + 1), purpose)
    if Path(diff).exists() or not _may_be_commits(checkout, diff):
        return judge_patch(checkout, _read(Path(diff), LARGEST_PATCH + 1), purpose)
    return judge_range(checkout, diff, purpose)


def _may_be_commits(checkout: Checkout, diff: str) -> bool:
    """Tell whether a word that is no file means commits; in a range both ends are looked up later."""
    if ".." in diff and "/../" not in f"/{diff}/":
        return True
    try:
        checkout.commit(diff)
    except GitError:
        return False
    return True


def _read(file: Path, limit: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(limit)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from None


def why_not(error: GitError, repository: Path) -> str:
    """Say why a change cannot be judged or applied, and what would be right."""
    said = str(error)
    if "No valid patches" in said or "unrecognized input" in said:
        return "is no unified diff; give one, as `git diff` prints it, or a range such as main..HEAD"
    if "git apply failed" in said:
        return (
            f"does not fit what is in {repository}, neither as committed nor as it is: {one_line(said, 500)}"
        )
    return one_line(said, 500)


def _as_json(judged: Judged) -> str:
    said = {
        "ok": not judged.refused,
        "base": judged.base,
        "files": list(judged.change.paths),
        "findings": [finding_as_json(finding) for finding in judged.findings],
    }
    return json.dumps(said, indent=2) + "\n"


def finding_as_json(finding: Finding) -> dict[str, object]:
    """Return a finding for programs."""
    return {
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.line,
        "what": finding.what,
        "why": finding.why,
        "severity": str(finding.severity),
        "id": finding.id,
    }


def _as_lines(judged: Judged) -> str:
    lines = []
    for finding in judged.findings:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        lines.append(
            f"{finding.severity:8s} {finding.rule} {one_line(place, 300)}: {one_line(finding.what, 300)}"
        )
        lines.append(f"         {one_line(finding.why, 500)}" + (f" [{finding.id}]" if finding.id else ""))
    count = len(judged.change.paths)
    files = f"{count} file{'' if count == 1 else 's'}"
    refusing = sum(finding.severity == "critical" for finding in judged.findings)
    end = f"refused: {refusing} critical" if judged.refused else "nothing refuses it"
    return "\n".join([*lines, f"{files}, compared with {judged.base}: {end}", ""])
