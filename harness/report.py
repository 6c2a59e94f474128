"""What is said in titles, comments and commit messages. Pure; outside text is made inert first."""

from __future__ import annotations

import re

from domain.allowing import asked_about, refusing
from domain.budget import Standing, show_money
from domain.claim import Claim, Restatement
from domain.events import COMMAND_PREFIX
from domain.model import (
    Actor,
    Limit,
    Money,
    ProtectedChange,
    RunStatus,
    Task,
    Verdict,
)
from domain.text import clip, fence, inert, inert_line, one_line, revealed
from harness.markdown import code, findings_list, folded, output_block, page, run_table

TITLE_LIMIT = 200
DIFFERENCE_LIMIT = 40_000
"""Characters of a difference that a maintainer is asked about."""

UNWANTED = (
    "**The work was stopped in the moment in which this draft was opened.** It is verified, and nobody works "
    f"on it any more.\n\nNext: a person closes it, or writes `{COMMAND_PREFIX} run` on the issue to go on."
)

MOST_PATHS = 50
"""Protected paths that a comment lists."""

_TRAILER_LIKE = re.compile(r"[\w-]{1,60}[ \t]*:")
_TRAILER_BREAKING = re.compile(r"[<>\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_ADDRESS = re.compile(r"[^\s@<>]{1,200}@[A-Za-z0-9.-]{1,200}")


def pull_title(task: Task, kind: str = "") -> str:
    """Return a one-line title that names the issue, within every forge's limit; `kind` begins it, if any."""
    prefix, suffix = f"{kind}: " if kind else "", f" (#{task.issue.number})"
    room = TITLE_LIMIT - len(prefix) - len(suffix)
    title = inert_line(task.title, room) or f"{task.category} from an issue without a title"
    return prefix + title + suffix


def commit_message(
    task: Task,
    claim: Claim | None,
    *,
    co_author: str = "",
    sign_off: str = "",
    kind: str | None = None,
) -> str:
    """Return the harness' commit message. It closes nothing and credits nobody but the requester.

    `co_author` is the requester's address on the forge, "" where it has none; `sign_off` is Name <mail>.
    `kind` begins the first line: None for the task's category, "" for nothing.
    """
    begins = str(task.category) if kind is None else kind
    subject = inert_line(task.title, 60) or f"{task.category} for issue {task.issue.number}"
    about = f"Refs issue {task.issue.number}."
    why = one_line(inert(claim.root_cause), 400) if claim else "Unfinished work."
    if _TRAILER_LIKE.match(why):
        why = f"Cause: {why}"  # a line that begins like a trailer is taken for one by some
    trailers = "\n".join(filter(None, [_credit(task.requested_by, co_author), _signed(sign_off)]))
    first = f"{begins}: {_without_directives(subject)}" if begins else _without_directives(subject)
    parts = [first, _without_directives(why), about, trailers]
    return "\n\n".join(filter(None, parts)) + "\n"


def _credit(requester: Actor, address: str) -> str:
    """Return the trailer that names who asked, or "" where nothing is left of the name or the address."""
    name, mail = (_TRAILER_BREAKING.sub("", one_line(text, 200)) for text in (requester.login, address))
    if not name or not _ADDRESS.fullmatch(mail):
        return f"Requested-by: {inert_line(name, 200)}" if name else ""
    return f"Co-authored-by: {name} <{mail}>"


def _signed(sign_off: str) -> str:
    return f"Signed-off-by: {one_line(sign_off, 300)}" if sign_off else ""


# -- comments ---------------------------------------------------------------------------------------


def spend_line(standing: Standing) -> str:
    """Say what an issue has cost and what the service's caps leave, on which day."""
    repository, service = (
        show_money(standing.left(limit)) for limit in (Limit.DAILY_COST, Limit.SERVICE_DAILY_COST)
    )
    return (
        f"{_spent(standing)} On {standing.spent.on} (UTC), the caps leave {repository} for this repository "
        f"and {service} for the whole service.{_raise(standing)}"
    )


def issue_line(standing: Standing) -> str:
    """Say what an issue has cost, and who raised its cap."""
    return f"{_spent(standing)}{_raise(standing)}"


def _spent(standing: Standing) -> str:
    spent = standing.spent
    about = " (an estimate, since the model's price is not known)" if spent.estimated else ""
    return f"Spent on this issue: {show_money(spent.task)} of at most {show_money(standing.total)}{about}."


def _raise(standing: Standing) -> str:
    raised = standing.spent.raised
    if raised is None:
        return ""
    return (
        f" {raised_by(raised.by)} raised the cap of one attempt to {show_money(raised.amount)} on "
        f"{raised.at:%Y-%m-%d %H:%M} UTC."
    )


def raised_by(login: str) -> str:
    """Write a login so that it calls nobody."""
    return code(login)


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
    return page(
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
    first = next(iter(refusing(verdict)), None)
    is_said_below = first is not None and verdict.summary == f"{first.rule} in {first.path}: {first.what}"
    parts = ["" if is_said_below else inert(one_line(verdict.summary, 600))]
    if verdict.findings:
        parts.append(findings_list(verdict.findings, asked_about(verdict)))
    if verdict.runs:
        table = run_table(verdict.runs)
        parts.append(folded("What was run before", table) if first else table)
    broken = next(
        (run for run in reversed(verdict.runs) if run.status is not RunStatus.PASSED and run.tail), None
    )
    if broken is not None and not verdict.findings:
        parts.append(output_block(f"Output of the run “{broken.name}”", broken.tail))
    return "\n\n".join(filter(None, parts))


def protected_detail(protected: ProtectedChange) -> str:
    """Return a change of protected paths for whoever may allow it: the list, and the difference, fenced."""
    paths = "\n".join(f"- {code(path)}" for path in protected.paths[:MOST_PATHS])
    more = len(protected.paths) - MOST_PATHS
    if more > 0:
        paths += f"\n- … and {more} more; I cannot show all of them here"
    shown = fence(clip(revealed(protected.patch), DIFFERENCE_LIMIT), "diff")
    return f"{paths}\n\n<details open><summary>The difference</summary>\n\n{shown}\n\n</details>"


def _without_directives(text: str) -> str:
    """Return commit text without what forges and CI systems would obey: `[skip ci]` and its like."""
    return text.replace("[", "(").replace("]", ")")
