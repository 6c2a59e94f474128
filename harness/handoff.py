"""What the next attempt is told of the earlier ones: mechanical, from our own records, no model involved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.claim import Claim
from domain.model import Outcome, TestRun, Verdict
from domain.text import clip, one_line, plain

TAIL_LIMIT = 3000
"""Characters of failing output that are worth repeating."""

LOST_LIMIT = 6000
"""Characters of a difference that is shown because the work itself could not be carried on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """An attempt that is over, as far as the next one should know.

    `start_sha` is the commit that it began from, `tree` what it came to; "" where that is not known.
    """

    number: int
    outcome: Outcome
    claim: Claim | None
    verdict: Verdict | None
    tree: str = ""
    start_sha: str = ""


def hand_off(
    past: Sequence[PastAttempt], *, continues: bool, files: Sequence[str] = (), lost: str = ""
) -> str:
    """Return the hand-off text: one line per earlier attempt, then what failed last, with its output.

    `continues` says that the worktree holds the earlier work; `files` are the paths that it touched; `lost`
    tells of earlier work that could not be carried on, with its difference.
    """
    if not past:
        return ""
    lines = [f"Attempt {attempt.number} ended {attempt.outcome}: {_tried(attempt)}" for attempt in past]
    if continues and files:
        lines.append("The worktree already contains that work. Files changed: " + ", ".join(files[:30]))
    elif not continues:
        lines.append("The worktree is clean again: nothing of the earlier work is in it.")
    if lost:
        lines.append(clip(plain(lost), LOST_LIMIT))
    last = past[-1].verdict
    if last is not None:
        lines.append(f"What the harness saw of it: {last.summary}")
        lines += [
            f"- {finding.rule} {finding.path}:{finding.line}: {finding.what}" for finding in last.findings
        ]
        failing = _failing(last.runs)
        if failing is not None:
            lines += [f"The failing command was: {failing.command}", clip(plain(failing.tail), TAIL_LIMIT)]
    return "\n".join(lines)


def _tried(attempt: PastAttempt) -> str:
    return one_line(attempt.claim.changes, 200) if attempt.claim else "it handed in no report"


def _failing(runs: Sequence[TestRun]) -> TestRun | None:
    return next((run for run in reversed(runs) if run.name.startswith("fixed") and run.failed_ids), None)
