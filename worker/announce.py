"""What the worker says at each turn of a task, as pure text: what happened, and who does what next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from domain.allowing import AllowRefusal
from domain.budget import Caps, Spent, Standing, next_utc_day, show_money
from domain.claim import Claim
from domain.model import Finding, Money, Outcome, ProtectedChange, Reason, Verdict
from domain.raising import RaiseRefusal
from domain.text import clip, inert, one_line
from harness import report
from harness.markdown import code, output_block, run_table, section, words_of

_COMMAND = "`/fixwright resume`"
_MOST_NAMES = 20
_MOST_OUTPUTS = 5

ENDINGS: dict[Reason, tuple[str, str]] = {
    Reason.NEEDS_INFORMATION: (
        "I stopped before doing anything: the issue can be read in more than one way.",
        "answer in a comment: I go on by myself when the issue's author or a maintainer has. After an edit "
        f"of the issue, a maintainer writes {_COMMAND}.",
    ),
    Reason.AWAITING_APPROVAL: (
        "I wait for a maintainer's word, and have shown what for.",
        "a maintainer writes `/fixwright approve`, `/fixwright retry` for another go with what has been said "
        "since, or `/fixwright cancel`.",
    ),
    Reason.ENVIRONMENT: (
        "I could not work on this here.",
        f"mend what is named above; then a maintainer writes {_COMMAND}. It is not the issue's fault.",
    ),
    Reason.UNPUBLISHED: (
        "The work is done, but it could not be published.",
        f"mend what is named above, such as a permission or a rule of the branch; then a maintainer writes "
        f"{_COMMAND}. The work is kept, and is not done again.",
    ),
    Reason.CONFIG: (
        "The repository's `.fixwright.yml` has a problem.",
        f"correct the file on the default branch; then a maintainer writes {_COMMAND}.",
    ),
    Reason.SANDBOX: (
        "The sandbox is not working on the service's machine, so nothing was run.",
        f"the operator mends it (see the service's log); then a maintainer writes {_COMMAND}.",
    ),
    Reason.UNPRICED: (
        "No price is known for the configured model, so no call was made.",
        f"the operator sets the price; then a maintainer writes {_COMMAND}.",
    ),
    Reason.TASK_LIMIT: (
        "I stopped at a limit before the work was finished.",
        f"a maintainer writes {_COMMAND} to go on from what is there, or takes over the branch. Where money "
        "was short, `/fixwright budget 3.00` raises the cap for this issue, once.",
    ),
    Reason.NO_CHANGE: (
        "I found nothing to change.",
        f"if the issue persists, add how to reproduce it; then a maintainer writes {_COMMAND}. Or a person "
        "closes the issue: I close none.",
    ),
    Reason.NOT_REPRODUCIBLE: (
        "I could not reproduce this, and changed nothing.",
        f"add steps, input or a version that show the fault, in a comment or in the issue; then a maintainer "
        f"writes {_COMMAND}. Or a person closes the issue: I close none.",
    ),
    Reason.REPEATED_DIFF: (
        "I came to the same change as an earlier attempt, so I stopped.",
        f"add what that change gets wrong; then a maintainer writes {_COMMAND}.",
    ),
    Reason.ATTEMPTS_EXHAUSTED: (
        "None of my attempts came to anything that could be verified. No pull request was opened.",
        f"look at the runs above; {_COMMAND} starts another attempt from here.",
    ),
    Reason.GUARD: (
        "I refused the change that the agent proposed. No pull request was opened.",
        "a maintainer looks at the findings. Those with a command can be allowed with it, each by a comment "
        "of its own; once all of them are, I go on with this very change, and the tests are run as ever. Or "
        f"{_COMMAND} starts another attempt from a clean tree.",
    ),
    Reason.FLAKY_BASELINE: (
        "The tests that show the fault vary on the very same code, so nothing can be told by them.",
        f"make them steady, or list them under `test.flaky` in `.fixwright.yml`; then a maintainer writes "
        f"{_COMMAND}.",
    ),
    Reason.PROTECTED_PATH: (
        "I refused the change that the agent proposed: it breaks a rule that stands before any commit.",
        f"a person makes that part of the change, or {_COMMAND} starts another attempt from a clean tree.",
    ),
    Reason.BRANCH_MOVED: (
        "Somebody pushed to the branch while I was working, so I pushed nothing.",
        f"{_COMMAND} starts from what is on the branch now.",
    ),
    Reason.CONFLICT: (
        "The base branch has moved on, and people's work on the branch conflicts with it; I changed nothing.",
        f"merge the base into the branch, or delete it to start anew; then a maintainer writes {_COMMAND}.",
    ),
    Reason.CI_RED: (
        "Continuous integration is red on the draft pull request, and I stopped.",
        f"a person looks at the failed jobs; {_COMMAND} starts another attempt on the branch.",
    ),
    Reason.CRASH_LOOP: (
        "The work on this issue stopped the service several times, so I set it aside.",
        f"the operator looks at the service's log; then a maintainer writes {_COMMAND}.",
    ),
    Reason.INTERNAL_ERROR: (
        "Something went wrong inside the service.",
        f"the operator looks at the service's log; then a maintainer writes {_COMMAND}.",
    ),
    Reason.NOT_PERMITTED: (
        "This was asked for by somebody without write access, so nothing was started.",
        "a maintainer takes the label off and puts it on again, or writes `/fixwright run`.",
    ),
    Reason.RIGHT_LOST: (
        "Whoever asked for this may not ask for it any more, so I have published nothing. The work is kept.",
        f"a maintainer who wants it writes {_COMMAND}, and I go on from there.",
    ),
    Reason.OUT_OF_REACH: (
        "I could not write to this repository, so I stopped. The work is kept.",
        f"when I can again, I go on by myself; {_COMMAND} has me try at once.",
    ),
    Reason.VISIBILITY_CHANGED: (
        "Who can see this repository has changed while I was working, so I have published nothing. The work "
        "is kept.",
        f"a maintainer who wants it published all the same writes {_COMMAND}, and I go on from there.",
    ),
    Reason.WITHDRAWN: ("Stopped, as asked.", "put the label on again to start anew."),
    Reason.TAKEN: (
        "I leave this issue alone.",
        "if I am to work on it all the same, a maintainer writes `/fixwright run`.",
    ),
    Reason.EXPIRED: (
        "Nobody has looked at the draft for a long time, so I let go of it. It stays open.",
        "review it, close it, or have me go on with `/fixwright run`.",
    ),
}
"""What happened and who does what next, for each reason. Every reason that ends a run must be here."""


def ending(reason: Reason, detail: str, cost: Money) -> str:
    """Return the comment for a task that a person has to look at. `detail` is ready Markdown."""
    headline, next_step = ENDINGS[reason]
    return report.ended_comment(headline, detail, next_step, cost)


def refused_for_good(detail: str, cost: Money) -> str:
    """Return the comment for a change that no maintainer's word could let through as it is."""
    headline, _ = ENDINGS[Reason.GUARD]
    next_step = f"{_COMMAND} starts another attempt from a clean tree; allowing findings would not be enough."
    return report.ended_comment(headline, detail, next_step, cost)


def raised(spent: Spent, caps: Caps) -> str:
    """Answer a maintainer who raised a task's cap."""
    standing = Standing(caps=caps, spent=spent)
    return (
        f"**The budget of this issue is raised.** {report.spend_line(standing)} It is in force from the next "
        f"model call on. If I have stopped, {_COMMAND} lets me go on."
    )


def not_raised(refusal: RaiseRefusal, caps: Caps) -> str:
    """Answer somebody whose word about the budget changes nothing. It is said once."""
    now, most = show_money(caps.max_cost_per_task_usd), show_money(caps.max_raised_cost_per_task_usd)
    why = {
        RaiseRefusal.NOT_PERMITTED: "Only somebody with write access to this repository may raise it.",
        RaiseRefusal.NOT_AN_AMOUNT: "Write it as an amount of US dollars, such as `/fixwright budget 3.00`.",
        RaiseRefusal.ENDED: "Nothing is being worked on here. Put the label on again first.",
        RaiseRefusal.AGAIN: "It was raised before, and that can be done once per issue.",
        RaiseRefusal.NOT_MORE: f"The service allows {now} per attempt as it is; name more than that.",
        RaiseRefusal.TOO_MUCH: f"The operator of this service allows up to {most} per attempt, not more.",
    }[refusal]
    nobody_may = caps.max_raised_cost_per_task_usd <= caps.max_cost_per_task_usd
    if nobody_may and refusal is not RaiseRefusal.NOT_PERMITTED:
        why = f"The operator of this service allows {now} per attempt, and nobody to raise that."
    return f"**The budget stays as it is.** {why}"


def asking(protected: ProtectedChange, cost: Money) -> str:
    """Return the comment for a change that waits for a maintainer's word about protected paths."""
    return report.ended_comment(
        "The change that the agent proposed touches paths that only people may change, so nothing was "
        "committed or tested.",
        report.protected_detail(protected),
        f"a maintainer reads it and writes `/fixwright allow {protected.name}`, which allows exactly this on "
        f"this issue, and I go on without the model; or makes that part of the change; or {_COMMAND} starts "
        "another attempt from a clean tree.",
        cost,
    )


def allowed(login: str, protected: ProtectedChange) -> str:
    """Answer a maintainer who allowed a change."""
    return (
        f"**Allowed by {report.raised_by(login)}:** exactly the change `{protected.name}` of "
        f"{len(protected.paths)} protected path{'s' if len(protected.paths) != 1 else ''}, on this issue. "
        "Any other change of them needs a word of its own."
    )


def allowed_finding(login: str, finding: Finding, *, left: Sequence[str], goes_on: bool) -> str:
    """Answer a maintainer who allowed a finding. `left` is what the last change still waits for."""
    said = (
        f"**Allowed by {report.raised_by(login)}:** the finding `{finding.id}`, for this code and on this "
        "issue. The pull request will show it as a warning."
    )
    if goes_on:
        return f"{said} I go on with the change that was refused; its tests are run as ever."
    if left:
        names = "\n".join(f"- `/fixwright allow {name}`" for name in left[:_MOST_NAMES])
        more = f"\n- … and {len(left) - _MOST_NAMES} more" if len(left) > _MOST_NAMES else ""
        return f"{said}\n\nThis still stands against the change:\n{names}{more}"
    return f"{said} It counts from the next attempt on."


def not_allowed(refusal: AllowRefusal, waiting: str) -> str:
    """Answer somebody whose word lets nothing through. It is said once."""
    which = f" `/fixwright allow {waiting}` is what I asked for." if waiting else ""
    why = {
        AllowRefusal.NOT_PERMITTED: "Only somebody with write access to this repository may allow it.",
        AllowRefusal.NOT_A_NAME: "Name a change by its 40 hexadecimal digits, or a finding by its id, "
        f"such as `/fixwright allow RH002-0123456789abcdef`.{which}",
        AllowRefusal.NEVER: "This cannot be waived by anyone: files that do not parse, credentials, "
        f"submodules, links and names that harm are mended, not allowed. {_COMMAND} starts another attempt.",
        AllowRefusal.ENDED: "Nothing is being worked on here. Put the label on again first.",
        AllowRefusal.NOT_WAITING: f"No change of that name and no finding of that id stands against "
        f"anything on this issue. A changed change has a name of its own.{which}",
    }[refusal]
    return f"**Nothing is allowed.** {why}"


def queue_full(is_swept: bool) -> str:
    """Return what is said once of an issue for which there is no room."""
    said = "**Many issues of this repository wait already, so this one is not queued yet.**"
    if is_swept:
        return f"{said} I take it up by myself when there is room, as long as the label is on."
    return f"{said}\n\n**Next:** a maintainer asks again later: the label off and on, or the command."


def why_it_waits(outcome: Outcome, detail: str, now: datetime) -> str:
    """Return why a task that goes on by itself waits, for its record and its status."""
    if outcome is Outcome.DAILY_LIMIT:
        until = next_utc_day(now)
        return f"A daily budget is used up; I go on after {until:%Y-%m-%d %H:%M} UTC. {detail}"
    if outcome is Outcome.INTERRUPTED:
        return "The service is restarting; the work goes on from its last step."
    return f"A temporary problem; I will try again by myself. {detail}"


def nothing_to_change(verdict: Verdict, claim: Claim | None) -> str:
    """Return what the harness ran where nothing is changed, and on what; and, apart, what the agent says."""
    parts = [
        inert(one_line(verdict.summary, 500)),
        section("Run by the harness on the code as it is", _runs(verdict)),
        section("Seen with", _seen_with(verdict)),
    ]
    if claim is not None:
        words = f"{words_of(claim.root_cause)}\n\n{words_of(claim.changes)}"
        parts.append(section("Claimed by the agent, checked by nobody", words))
    return "\n\n".join(filter(None, parts))


def _runs(verdict: Verdict) -> str:
    if not verdict.runs:
        return "Nothing: the repository has no tests that I could find, and the agent named no command."
    outputs = [
        output_block(f"Output of the run “{run.name}”", run.tail or "(no output)")
        for run in verdict.runs[:_MOST_OUTPUTS]
    ]
    return "\n\n".join([run_table(verdict.runs), *outputs])


def _seen_with(verdict: Verdict) -> str:
    lines = [f"- commit: {code(verdict.base_sha)}", f"- tree: {code(verdict.tree)}"]
    lines += [f"- {check.name}: {code(check.what)}" for check in verdict.checks]
    return "\n".join([*lines, f"- isolation: {inert(one_line(verdict.isolation, 200))}"])


def plain(detail: str) -> str:
    """Return a detail from our records as Markdown that does nothing."""
    return inert(clip(detail, 4000))


def with_branch(seen: str, branch: str) -> str:
    """Add where the unfinished work is, if there is any."""
    parts = [seen, f"Unfinished work is on the branch `{branch}`." if branch else ""]
    return "\n\n".join(part for part in parts if part)


EDITED = (
    "**The issue has been edited since the work was asked for.** I go on with its text as it stood then.\n\n"
    "**To have the new text worked on,** a maintainer who has read it writes `/fixwright resume` when I have "
    "stopped, or takes the label off and puts it on again."
)

MISSED = (
    "**This label was put on while I was not listening,** and the issue has changed since, so I cannot tell "
    "whether a maintainer has read it as it stands now.\n\n"
    "**Next:** a maintainer takes the label off and puts it on again."
)

TOO_OLD = (
    "**This request reached me more than a day late, so nothing begins by it alone.**\n\n"
    "**Next:** a maintainer who still wants it says so again: the label off and on, or the command once more."
)

MODEL_REFUSED = (
    "The model's provider refuses this service, so the work waits; it is not the issue's fault. The operator "
    "looks at the service's log. I try again now and then, and go on by myself."
)
"""What the provider said is for the operator: it may name accounts and keys."""

RECOVERED = "The service stopped in the middle of the work. It goes on from the last step by itself."
