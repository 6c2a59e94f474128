"""All text for people: pull requests, comments, commit messages. Pure; outside text is made inert first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from domain.allowing import is_allowable
from domain.budget import Standing, show_money
from domain.claim import Claim, Restatement
from domain.events import COMMAND_PREFIX
from domain.fitting import fitted
from domain.model import (
    Actor,
    Finding,
    Limit,
    Money,
    ProtectedChange,
    RunStatus,
    Severity,
    Suspect,
    Task,
    TestRun,
    Verdict,
)
from domain.text import clip, fence, inert, inert_line, one_line, plain, quoted, revealed
from harness.protection import Allowed

TITLE_LIMIT = 200
DIFFERENCE_LIMIT = 40_000
"""Characters of a difference that a maintainer is asked about."""

MOST_FINDINGS = 50
"""Findings that a text lists, the ones that refuse first."""

MOST_PATHS = 50
"""Protected paths that a comment lists."""

_TRAILER_LIKE = re.compile(r"[\w-]{1,60}[ \t]*:")
_TRAILER_BREAKING = re.compile(r"[<>\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_ADDRESS = re.compile(r"[^\s@<>]{1,200}@[A-Za-z0-9.-]{1,200}")

_EDITED = (
    "The issue has been edited since the work was asked for; this answers its text as it stood then. "
    "Read both before you merge."
)

_NOTICE = (
    "This draft was made by a machine (Fixwright). A person reviews it and decides; "
    "it is never merged automatically."
)


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


def pull_title(task: Task) -> str:
    """Return a one-line title that names the issue, within every forge's limit."""
    suffix = f" (#{task.issue.number})"
    title = (
        inert_line(task.title, TITLE_LIMIT - len(suffix)) or f"{task.category} from an issue without a title"
    )
    return title + suffix


def commit_message(task: Task, claim: Claim | None, *, co_author: str = "", sign_off: str = "") -> str:
    """Return the harness' commit message. It closes nothing and credits nobody but the requester.

    `co_author` is the requester's address on the forge, "" where it has none; `sign_off` is Name <mail>.
    """
    subject = inert_line(task.title, 60) or f"{task.category} for issue {task.issue.number}"
    about = f"Refs issue {task.issue.number}."
    why = one_line(inert(claim.root_cause), 400) if claim else "Unfinished work."
    if _TRAILER_LIKE.match(why):
        why = f"Cause: {why}"  # a line that begins like a trailer is taken for one by some
    trailers = "\n".join(filter(None, [_credit(task.requested_by, co_author), _signed(sign_off)]))
    parts = [f"{task.category}: {_without_directives(subject)}", _without_directives(why), about, trailers]
    return "\n\n".join(filter(None, parts)) + "\n"


def _credit(requester: Actor, address: str) -> str:
    """Return the trailer that names who asked, or "" where nothing is left of the name or the address."""
    name, mail = (_TRAILER_BREAKING.sub("", one_line(text, 200)) for text in (requester.login, address))
    if not name or not _ADDRESS.fullmatch(mail):
        return f"Requested-by: {inert_line(name, 200)}" if name else ""
    return f"Co-authored-by: {name} <{mail}>"


def _signed(sign_off: str) -> str:
    return f"Signed-off-by: {one_line(sign_off, 300)}" if sign_off else ""


def pull_body(facts: PullFacts) -> str:
    """Return the pull request's text: what the harness saw first, the agent's words apart and labelled."""
    claim, verdict = facts.claim, facts.verdict
    sections = [
        f"Fixes #{facts.task.issue.number}",
        _EDITED if facts.edited else "",
        _section("How this was tested", _tested(verdict)),
        f"Set up beforehand: {_code(facts.prepared)}." if facts.prepared else "",
        _section("Root cause", quoted(clip(claim.root_cause, 2000))) if claim else "",
        _section("The change", quoted(clip(claim.changes, 2000))) if claim else "",
        _section("Reported by the agent, not run here", _claimed(claim)) if claim else "",
        _section("Findings", findings_list(verdict.findings)) if verdict.findings else "",
        _section("Protected paths", _allowed(facts.allowed)) if facts.allowed else "",
        _section("Where it looked", _suspects(facts.suspects)) if facts.suspects else "",
        _left_out(facts.left_out),
        _section("Cost", _cost(facts)),
        _receipt(facts),
        f"---\n{_NOTICE}",
    ]
    return _join(sections)


def findings_list(findings: Sequence[Finding]) -> str:
    """Return findings as a Markdown list, the ones that refuse first."""
    ordered = sorted(findings, key=lambda finding: (finding.severity != "critical", finding.rule))
    more = [f"- … and {len(ordered) - MOST_FINDINGS} more"] if len(ordered) > MOST_FINDINGS else []
    return "\n".join([*map(_finding, ordered[:MOST_FINDINGS]), *more])


def _finding(finding: Finding) -> str:
    """Return one finding; where it refuses, with the command that lets it pass, if one does."""
    place = f"{finding.path}:{finding.line}" if finding.line > 0 else finding.path
    by = f", allowed by {_code('@' + finding.allowed_by)}" if finding.allowed_by else ""
    said = (
        f"- **{finding.rule}** ({finding.severity}{by}) {_code(place)}: "
        f"{_sentence(finding.what, 300)} {_sentence(finding.why, 300)}"
    )
    if finding.severity is not Severity.CRITICAL:
        return said
    if is_allowable(finding):
        return f"{said}\n  A maintainer may allow it: `{COMMAND_PREFIX} allow {finding.id}`"
    return f"{said}\n  Nobody can waive this: it has to be mended."


def _sentence(text: str, limit: int) -> str:
    """Return outside text as an inert sentence with one full stop."""
    line = inert(one_line(text, limit))
    return line if not line or line.endswith((".", "!", "?", "…", ":")) else f"{line}."


def run_table(runs: Sequence[TestRun]) -> str:
    """Return test runs as a Markdown table; only what the harness itself ran may be given here."""
    rows = ["| run | result | tests | seconds | tree |", "|---|---|---|---|---|"]
    rows += [
        f"| {run.name} | {_result(run)} | {_counts(run)} | {run.seconds:.1f} | {_code(run.tree[:12])} |"
        for run in runs
    ]
    commands = "\n".join(f"{run.name}: {plain(run.command)}" for run in runs)
    exact = f"<details><summary>Exact commands</summary>\n\n{fence(clip(commands, 6000))}\n\n</details>"
    return "\n".join(rows) + f"\n\n{exact}"


def _tested(verdict: Verdict) -> str:
    lines = [f"**{inert(one_line(verdict.summary, 400))}**", "", run_table(verdict.runs)]
    if verdict.turned_green:
        lines += ["", "Red before, green after:", _code_list(verdict.turned_green)]
    failing_before = sorted({i for run in verdict.runs if run.name == "fixed" for i in run.failed_ids})
    if failing_before:
        lines += [
            "",
            "Failing before this change and after it (not touched by it):",
            _code_list(failing_before),
        ]
    lines += [f"\n{sentence}" for sentence in _when(verdict.runs)]
    lines += [
        "",
        f"Run by the harness on the tree {_code(verdict.tree)}, which is exactly the tree of this branch's "
        f"commit. Isolation: {inert(verdict.isolation)}.",
    ]
    return "\n".join(lines)


def _when(runs: Sequence[TestRun]) -> list[str]:
    """Say which runs were not made for this change alone, and when they were."""
    return [
        f"The run {_code(run.name)} was made at {run.at:%Y-%m-%d %H:%M} UTC for an earlier attempt; its "
        "tree, its command and the tools are the same now."
        for run in runs
        if run.reused and run.at
    ]


def _allowed(allowed: Allowed) -> str:
    """Say who let a change of protected paths through, and which."""
    word, change = allowed.word, allowed.change
    when = f"{word.at:%Y-%m-%d %H:%M} UTC"
    return (
        f"{_code(word.by.login)} allowed exactly this change ({_code(change.name)}) on {when}:\n"
        f"{_code_list(change.paths)}"
    )


def _claimed(claim: Claim) -> str:
    commands = _code_list(claim.test_commands) if claim.test_commands else "It named no test command."
    doubt = claim.not_verified.strip()
    return commands + (f"\n\nNot verified, in its words:\n{quoted(clip(doubt, 1500))}" if doubt else "")


def _suspects(suspects: Sequence[Suspect]) -> str:
    return "\n".join(
        f"- {_code(suspect.path + (f':{suspect.first_line}' if suspect.first_line else ''))} "
        f"{inert(one_line(suspect.symbol, 80))}".rstrip()
        for suspect in suspects[:5]
    )


def _left_out(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - 8} more" if len(paths) > 8 else ""
    return "Left out of the commit: " + ", ".join(_code(path) for path in paths[:8]) + more + "."


def _receipt(facts: PullFacts) -> str:
    """Name the receipt by its hash, so that what is read later can be told from what was said here."""
    if not facts.receipt:
        return ""
    name = f"[{_code(facts.receipt)}]({facts.receipt_url})" if facts.receipt_url else _code(facts.receipt)
    return f"Signed receipt of these runs: {name}. `fixwright receipt verify` checks it."


def _cost(facts: PullFacts) -> str:
    return (
        f"{show_money(facts.cost)}, {facts.steps} model calls with {_code(one_line(facts.model, 80))}, "
        f"attempt {facts.attempt_number}." + (f"\n\n{spend_line(facts.standing)}" if facts.standing else "")
    )


def _result(run: TestRun) -> str:
    mark = {RunStatus.PASSED: "green", RunStatus.FAILED: "red"}.get(run.status, str(run.status))
    return f"{mark}, exit {run.exit_code}"


def _counts(run: TestRun) -> str:
    pairs = ((run.passed, "passed"), (run.failed, "failed"), (run.skipped, "skipped"))
    return ", ".join(f"{count} {word}" for count, word in pairs if count) or "–"


# -- comments ---------------------------------------------------------------------------------------


def started_comment(task: Task, attempt_number: int, standing: Standing) -> str:
    """Say that work has begun, and what it may cost."""
    caps = standing.caps.raised(standing.spent.raised)
    attempt = f"attempt {attempt_number}, at most {show_money(caps.max_cost_per_task_usd)}"
    return _join(
        [
            f"**Working on it** ({attempt}). "
            f"To stop me, take the `{task.category}` label off or write `{COMMAND_PREFIX} cancel`.",
            spend_line(standing),
        ]
    )


def spend_line(standing: Standing) -> str:
    """Say what an issue has cost and what the service's caps leave, on which day."""
    spent = standing.spent
    about = " (an estimate, since the model's price is not known)" if spent.estimated else ""
    repository, service = (
        show_money(standing.left(limit)) for limit in (Limit.DAILY_COST, Limit.SERVICE_DAILY_COST)
    )
    line = (
        f"Spent on this issue: {show_money(spent.task)} of at most {show_money(standing.total)}{about}. "
        f"On {spent.on} (UTC), the caps leave {repository} for this repository and {service} for the whole "
        "service."
    )
    raised = spent.raised
    if raised is None:
        return line
    return (
        f"{line} {raised_by(raised.by)} raised the cap of one attempt to {show_money(raised.amount)} on "
        f"{raised.at:%Y-%m-%d %H:%M} UTC."
    )


def raised_by(login: str) -> str:
    """Write a login so that it calls nobody."""
    return _code(login)


def queued_comment(why: str) -> str:
    """Say that the task waits, and for what."""
    return f"**Waiting.** {inert(one_line(why, 400))}"


def review_comment(pull_number: int, url: str, verdict: Verdict, cost: Money) -> str:
    """Say that a draft pull request is up, and what backs it."""
    greens = len(verdict.turned_green)
    plural = "s" if greens != 1 else ""
    evidence = f"{greens} test{plural} red before and green after" if greens else "Test suite green"
    return (
        f"**Draft pull request [#{pull_number}]({url}) is ready for review.** {evidence}, run by "
        f"the harness on the pushed tree; {show_money(cost)} spent. Next: a maintainer reviews it. "
        f"`{COMMAND_PREFIX} retry` asks for another attempt."
    )


def ended_comment(headline: str, detail: str, next_step: str, cost: Money) -> str:
    """Say what happened, why it stopped, and what a person can do. `detail` is ready Markdown."""
    return _join(
        [f"**{headline}**", detail, f"Next: {next_step}", f"Spent on this issue: {show_money(cost)}."]
    )


def restated_detail(restatement: Restatement) -> str:
    """Return the restatement and its questions as Markdown, all inert."""
    lines = [
        f"- Expected: {inert(one_line(restatement.expected, 600))}",
        f"- Actual: {inert(one_line(restatement.actual, 600))}",
    ]
    if restatement.questions:
        lines += ["", "Before any work, I need to know:"]
        lines += [f"{n}. {inert(one_line(text, 400))}" for n, text in enumerate(restatement.questions, 1)]
    return "As I understand the issue:\n\n" + "\n".join(lines)


def verdict_detail(verdict: Verdict) -> str:
    """Return what the harness saw of a change that it did not accept."""
    parts = [inert(one_line(verdict.summary, 600))]
    if verdict.findings:
        parts.append(findings_list(verdict.findings))
    if verdict.runs:
        parts.append(run_table(verdict.runs))
    broken = next(
        (run for run in reversed(verdict.runs) if run.status is not RunStatus.PASSED and run.tail), None
    )
    if broken is not None and not verdict.findings:
        parts.append(output_block(f"Output of the run “{broken.name}”", broken.tail))
    return "\n\n".join(parts)


def protected_detail(protected: ProtectedChange) -> str:
    """Return a change of protected paths for whoever may allow it: the list, and the difference, fenced."""
    paths = "\n".join(f"- {_code(path)}" for path in protected.paths[:MOST_PATHS])
    more = len(protected.paths) - MOST_PATHS
    if more > 0:
        paths += f"\n- … and {more} more; I cannot show all of them here"
    shown = fence(clip(revealed(protected.patch), DIFFERENCE_LIMIT), "diff")
    return f"{paths}\n\n<details open><summary>The difference</summary>\n\n{shown}\n\n</details>"


def output_block(title: str, output: str) -> str:
    """Return command output in a folded block that it cannot break out of."""
    return f"<details><summary>{inert(title)}</summary>\n\n{fence(clip(plain(output), 6000))}\n\n</details>"


def _section(title: str, body: str) -> str:
    return f"### {title}\n\n{body}"


def _join(sections: Sequence[str]) -> str:
    return fitted("\n\n".join(section for section in sections if section))


def _code(text: str) -> str:
    """Return an inline code span that its content cannot end, and that cannot break a table row."""
    safe = one_line(plain(text), 300).replace("`", "'").replace("|", "\\|")
    return f"`{safe}`" if safe else "–"


def _code_list(items: Sequence[str]) -> str:
    shown = [f"- {_code(item)}" for item in items[:20]]
    return "\n".join([*shown, f"- … and {len(items) - 20} more"] if len(items) > 20 else shown)


def _without_directives(text: str) -> str:
    """Return commit text without what forges and CI systems would obey: `[skip ci]` and its like."""
    return text.replace("[", "(").replace("]", ")")
