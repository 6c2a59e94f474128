"""The text of a pull request: what a maintainer reads in a minute, the long parts folded. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.allowing import asked_about
from domain.budget import Standing, show_money
from domain.claim import Claim
from domain.model import Check, Money, RunStatus, Suspect, Task, TestRun, Verdict
from domain.text import inert, one_line
from harness import report
from harness.markdown import (
    code,
    code_list,
    colour,
    counts,
    findings_list,
    folded,
    names,
    page,
    run_table,
    section,
    words_of,
)
from harness.protection import Allowed
from harness.runs import (
    BASE,
    BASE_DOCUMENTATION,
    BASE_WITH_TESTS,
    DOCUMENTATION,
    FIXED,
    FIXED_AGAIN,
    FIXED_ORIGINAL_TESTS,
    OWN_CI,
)

_EDITED = (
    "The issue has been edited since the work was asked for; this answers its text as it stood then. "
    "Read both before you merge."
)

_NOTICE = (
    "This draft was made by a machine (Fixwright). A person reviews it and decides; "
    "it is never merged automatically."
)

_TEMPLATE = (
    "This repository's own template, for whoever takes the draft on; nothing in it was filled in or ticked:"
)

_PAIRS = (
    ("the change's own tests", BASE_WITH_TESTS, FIXED_AGAIN),
    ("whole suite", BASE, FIXED),
    ("original tests", BASE, FIXED_ORIGINAL_TESTS),
    ("documentation build", BASE_DOCUMENTATION, DOCUMENTATION),
)
"""What is compared: its name, the run before, the run after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFacts:
    """What a pull request's text is made of."""

    task: Task
    verdict: Verdict
    claim: Claim | None
    suspects: tuple[Suspect, ...]
    cost: Money
    steps: int
    model: str
    attempt_number: int
    standing: Standing | None = None
    left_out: tuple[str, ...] = ()
    receipt: str = ""
    receipt_url: str = ""
    allowed: Allowed | None = None
    prepared: str = ""
    edited: bool = False
    template: str = ""


def _findings(verdict: Verdict) -> str:
    return findings_list(verdict.findings, asked_about(verdict))


def pull_body(facts: PullFacts) -> str:
    """Return the pull request's text: the harness' verdict first, the agent's words quoted throughout."""
    claim, verdict = facts.claim, facts.verdict
    closing = "Fixes" if verdict.verified else "Refs"
    return page(
        [
            f"{closing} #{facts.task.issue.number}",
            _EDITED if facts.edited else "",
            f"**{inert(one_line(verdict.summary, 500))}**",
            section("Root cause", words_of(claim.root_cause)) if claim else "",
            section("The change", words_of(claim.changes)) if claim else "",
            section("How this was tested", _tested(facts)),
            section("Not verified", _not_verified(claim, verdict)),
            section("Findings", findings_list(verdict.findings, asked_about(verdict)))
            if verdict.findings
            else "",
            section("Protected paths", _allowed(facts.allowed)) if facts.allowed else "",
            section("Cost and origin", "\n".join(f"- {line}" for line in _origin(facts) if line)),
            f"---\n{_NOTICE}",
            f"---\n{_TEMPLATE}\n\n{facts.template}" if facts.template else "",
        ]
    )


def _tested(facts: PullFacts) -> str:
    verdict = facts.verdict
    failing = sorted({each for run in verdict.runs if run.name == FIXED for each in run.failed_ids})
    ran = "Run by the harness on the tree" if verdict.runs else "No test was run. The harness judged the tree"
    place = (
        f"{ran} {code(verdict.tree)}, which is exactly the tree of this branch's commit. "
        f"Isolation: {inert(one_line(verdict.isolation, 200))}."
    )
    parts = [
        _before_and_after(verdict.runs) if verdict.runs else "",
        _checks([check for check in verdict.checks if check.status is not RunStatus.LEFT_TO_CI]),
        names("Red before, green after", verdict.turned_green),
        names("Failing before this change and after it (not touched by it)", failing),
        names("Flaky on the unchanged base, and left out of the decision", verdict.flaky),
        folded(f"All {len(verdict.runs)} runs", run_table(verdict.runs)) if verdict.runs else "",
        *_when(verdict.runs),
        place,
    ]
    return "\n\n".join(filter(None, parts))


def _checks(checks: Sequence[Check]) -> str:
    """Return what was looked at beside the runs, and what could not be, as a table."""
    rows = ["| check | result | of what |", "|---|---|---|"]
    rows += [
        f"| {check.name} | {colour(check)} | {inert(one_line(check.what, 300)).replace('|', '/')} |"
        for check in checks
    ]
    return "\n".join(rows) if checks else ""


def _before_and_after(runs: Sequence[TestRun]) -> str:
    rows = ["| run | command | before → after | tree |", "|---|---|---|---|"]
    return "\n".join([*rows, *_rows(runs)])


def _rows(runs: Sequence[TestRun]) -> Iterator[str]:
    """Yield a row for each comparison that was made; one side that was not run is a dash."""
    last = {run.name: run for run in runs}
    for name, before, after in _PAIRS:
        if after == FIXED_AGAIN and before in last:
            yield _row(name, last[before], last.get(after) or last.get(FIXED))
        elif after in last or (after == FIXED and before in last):
            yield _row(name, last.get(before), last.get(after))


def _row(name: str, before: TestRun | None, after: TestRun | None) -> str:
    made = [run for run in (before, after) if run is not None]
    seen = " → ".join(f"{colour(run)} ({counts(run)})" if run else "–" for run in (before, after))
    trees = " → ".join(code(run.tree[:12]) if run else "–" for run in (before, after))
    return f"| {name} | {code(made[-1].command, 100)} | {seen} | {trees} |"


def _when(runs: Sequence[TestRun]) -> list[str]:
    """Say which runs were not made for this change alone, and when they were."""
    return [
        f"The run {code(run.name)} was made at {run.at:%Y-%m-%d %H:%M} UTC for an earlier attempt; its "
        "tree, its command and the tools are the same now."
        for run in runs
        if run.reused and run.at
    ]


def _not_verified(claim: Claim | None, verdict: Verdict) -> str:
    """Name what nobody here has checked: what is left to CI, and what the agent alone reports."""
    left = [check for check in verdict.checks if check.status is RunStatus.LEFT_TO_CI]
    parts = [
        f"{check.name[:1].upper()}{check.name[1:]} ({check.status}): {inert(one_line(check.what, 300))}."
        for check in left
    ]
    if all(check.name != OWN_CI for check in left):
        parts.append("This repository's own CI was not run here.")
    if claim and claim.test_commands:
        parts.append(names(f"{RunStatus.CLAIMED.capitalize()}, not run here", claim.test_commands))
    if claim and claim.not_verified.strip():
        parts.append(f"The agent's own doubts:\n{words_of(claim.not_verified)}")
    return "\n\n".join(parts)


def _allowed(allowed: Allowed) -> str:
    """Say who let a change of protected paths through, and which."""
    word, change = allowed.word, allowed.change
    when = f"{word.at:%Y-%m-%d %H:%M} UTC"
    return (
        f"{code(word.by.login)} allowed exactly this change ({code(change.name)}) on {when}:\n"
        f"{code_list(change.paths)}"
    )


def _origin(facts: PullFacts) -> Iterator[str]:
    """Yield what it took to make this, one line each; "" where there is nothing to say."""
    yield _cost(facts)
    yield _suspects(facts.suspects)
    yield f"Set up beforehand: {code(facts.prepared)}." if facts.prepared else ""
    yield _left_out(facts.left_out)
    yield _receipt(facts)


def _suspects(suspects: Sequence[Suspect]) -> str:
    if not suspects:
        return ""
    shown = ", ".join(
        code(f"{suspect.path}:{suspect.first_line}" if suspect.first_line else suspect.path)
        for suspect in suspects[:5]
    )
    return f"Where it looked: {shown}."


def _left_out(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - 8} more" if len(paths) > 8 else ""
    return "Left out of the commit: " + ", ".join(code(path) for path in paths[:8]) + more + "."


def _receipt(facts: PullFacts) -> str:
    """Name the receipt by its hash, so that what is read later can be told from what was said here."""
    if not facts.receipt:
        return ""
    name = f"[{code(facts.receipt)}]({facts.receipt_url})" if facts.receipt_url else code(facts.receipt)
    return f"Signed receipt of these runs: {name}. `fixwright receipt verify` checks it."


def _cost(facts: PullFacts) -> str:
    calls = f"{facts.steps} model call{'s' if facts.steps != 1 else ''}"
    said = (
        f"{show_money(facts.cost)}, {calls} with {code(one_line(facts.model, 80))}, "
        f"attempt {facts.attempt_number}."
    )
    return f"{said} {report.issue_line(facts.standing)}" if facts.standing else said
