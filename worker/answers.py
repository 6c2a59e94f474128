"""What is answered to commands in comments, as pure text: short, factual, one comment each."""

from __future__ import annotations

from dataclasses import dataclass

from domain.budget import Caps, Standing, show_money
from domain.claim import Claim
from domain.events import COMMAND_PREFIX, Verb
from domain.model import Attempt, Outcome, Publication, Reason, Task, Verdict
from domain.states import State
from domain.text import one_line
from harness import report
from harness.markdown import code, page, section, words_of
from worker.announce import ENDINGS, plain
from worker.turns import Turn

COMMANDS: dict[Verb, tuple[str, str]] = {
    Verb.RUN: ("run", "work on this issue, with or without a label; goes on where I stopped"),
    Verb.RESUME: ("resume", "go on where I stopped, with what has been said since"),
    Verb.RETRY: ("retry", "another attempt, also when a draft is up"),
    Verb.CANCEL: ("cancel", "stop, and leave the issue alone"),
    Verb.STATUS: ("status", "say where this stands"),
    Verb.EXPLAIN: ("explain", "show what the last attempt tried, ran, found and cost"),
    Verb.PLAN: ("plan", "make another plan, where one waits, with what has been said since"),
    Verb.APPROVE: ("approve", "let what waits for an approval go on"),
    Verb.BUDGET: ("budget 3.00", "raise what one attempt may cost, once, in US dollars"),
    Verb.ALLOW: ("allow ID", "allow one change of protected paths, or one finding, by its name"),
    Verb.HELP: ("help", "this list"),
}
"""How each command is written behind `/fixwright`, and what it does."""

_OUTCOMES = {
    Outcome.VERIFIED: "its change was verified",
    Outcome.UNVERIFIED: "its change was not verified",
    Outcome.REFUSED: "its change was refused",
    Outcome.NO_CHANGE: "it changed nothing",
    Outcome.DECLINED: "it could not go on",
    Outcome.UNJUDGED: "its change could not be judged here",
    Outcome.REPEATED: "it came to the same change as an earlier one",
    Outcome.TASK_LIMIT: "it reached a limit",
    Outcome.DAILY_LIMIT: "it waits for the next day's budget",
    Outcome.TRANSIENT: "it met a temporary problem",
    Outcome.INTERRUPTED: "it was interrupted",
    Outcome.ORPHANED: "the service stopped in the middle of it",
    Outcome.CANCELLED: "it was cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a task when somebody asks. `turn` is its place in the queue, while it waits."""

    task: Task
    attempts: tuple[Attempt, ...] = ()
    verdict: Verdict | None = None
    claim: Claim | None = None
    publication: Publication | None = None
    turn: Turn | None = None
    standing: Standing | None = None

    @property
    def last(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None


def status_words(situation: Situation) -> str:
    """Say where a task stands, and who does what next."""
    spent = report.spend_line(situation.standing) if situation.standing else ""
    return page([_where(situation), spent])


def _where(situation: Situation) -> str:
    task, last = situation.task, situation.last
    if task.state is State.QUEUED:
        return _queued(situation)
    if task.state is State.RUNNING:
        step = f", {last.steps} steps so far" if last and last.steps else ""
        return f"**Being worked on**: attempt {last.number if last else 1}{step}."
    pull = situation.publication
    if task.state in {State.IN_REVIEW, State.WATCHING} and pull is not None and pull.pull_number:
        now = "**In review**" if task.state is State.IN_REVIEW else "**Waiting for continuous integration**"
        return f"{now}: draft pull request [#{pull.pull_number}]({pull.url}). Next: a maintainer reviews it."
    if task.state is State.DONE:
        return "**Merged.** Nothing is left to do here."
    headline, next_step = ENDINGS[task.reason or Reason.INTERNAL_ERROR]
    now = "**Waiting for a person**" if task.state is State.BLOCKED else "**Stopped**"
    return f"{now}: {headline}\n\nNext: {next_step}"


def _queued(situation: Situation) -> str:
    task, turn = situation.task, situation.turn
    before = f"{turn.in_words} in the queue" if turn and turn.ahead else "it is next"
    when = f", not before {task.not_before:%Y-%m-%d %H:%M} UTC" if task.not_before else ""
    why = f"\n\n{plain(task.detail)}" if task.detail else ""
    return f"**Queued**: {before}{when}.{why}"


def explain_words(situation: Situation) -> str:
    """Show the last attempt: what was tried, the runs, the findings, what it cost."""
    last = situation.last
    if last is None:
        return page(["**Nothing has been tried yet.**", _where(situation)])
    how = _OUTCOMES[last.outcome] if last.outcome else "it is still going on"
    claim, verdict, pull = situation.claim, situation.verdict, situation.publication
    where = f"The work is on the branch {code(pull.branch)}." if pull else ""
    return page(
        [
            f"**Attempt {last.number}**: {how} ({last.steps} model calls).",
            section("Root cause, in the agent's words", words_of(claim.root_cause)) if claim else "",
            section("The change, in the agent's words", words_of(claim.changes)) if claim else "",
            section("What the harness saw", report.verdict_detail(verdict)) if verdict else "",
            where,
            report.issue_line(situation.standing) if situation.standing else "",
        ]
    )


def help_words(situation: Situation, caps: Caps | None) -> str:
    """List the commands, and what each may do on this issue."""
    rows = [
        f"| `{COMMAND_PREFIX} {usage}` | {what}{_here(verb, caps, situation.task)} |"
        for verb, (usage, what) in _listed()
    ]
    return page(
        [
            "**Commands**, each alone on the first line of a comment, by people with write access:",
            "\n".join(["| command | what it does |", "|---|---|", *rows]),
            _where(situation),
        ]
    )


def without_task(verb: Verb) -> str:
    """Answer a command on an issue that nobody has asked to have worked on."""
    said = f"**Nothing is being worked on here.** `{COMMAND_PREFIX} run` begins."
    if verb not in {Verb.HELP, Verb.UNKNOWN}:
        return said
    rows = [f"| `{COMMAND_PREFIX} {usage}` | {what} |" for usage, what in COMMANDS.values()]
    return page([said, "\n".join(["| command | what it does |", "|---|---|", *rows])])


def unknown_words(situation: Situation, caps: Caps | None, first_line: str) -> str:
    """Answer what begins like a command and is none. It is said once per issue."""
    return page([f"{code(one_line(first_line, 80))} is no command.", help_words(situation, caps)])


def _listed() -> list[tuple[Verb, tuple[str, str]]]:
    return list(COMMANDS.items())


def _here(verb: Verb, caps: Caps | None, task: Task) -> str:
    if verb in {Verb.PLAN, Verb.APPROVE} and task.reason is not Reason.AWAITING_APPROVAL:
        return " (nothing waits for one here)"
    if verb is Verb.BUDGET and caps is not None:
        return f" (up to {show_money(caps.max_raised_cost_per_task_usd)})"
    return ""


NOTHING_TO_APPROVE = (
    "**Nothing waits for an approval here now.** What I make is a draft, and a person decides about it. A "
    "repository that wants to be asked before says so by `approval` in its `.fixwright.yml`."
)

NO_PLAN_WAITS = (
    "**No plan waits here now.** A repository that wants one before the work says `approval: plan` in its "
    "`.fixwright.yml`; for one issue, the label `plan-first` does, put on before the work is asked for."
)

NOT_PERMITTED = (
    "Commands are for people with write access to this repository, so I did nothing. I will not say this to "
    "you again on this issue."
)


def nothing_to_do(verb: Verb, situation: Situation) -> str:
    """Answer a maintainer whose command changes nothing as things stand."""
    return page([f"**`{COMMAND_PREFIX} {verb}` changes nothing now.**", _where(situation)])
