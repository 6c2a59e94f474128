"""What the console says about states and reasons: for each, what happens next and who does it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from domain.model import Outcome, Reason, Task
from domain.ports import Admission
from domain.states import State

STATE_NAMES = {
    State.QUEUED: "Queued",
    State.RUNNING: "Running",
    State.WATCHING: "Watching CI",
    State.IN_REVIEW: "In review",
    State.BLOCKED: "Blocked",
    State.CANCELLED: "Cancelled",
    State.DONE: "Done",
}

_NEXT = {
    State.QUEUED: "The worker takes it when it is free.",
    State.RUNNING: "The agent works on it; the harness checks what comes out.",
    State.WATCHING: "The pull request waits for the repository's own checks.",
    State.IN_REVIEW: "A maintainer reviews the draft pull request, and merges or closes it.",
    State.BLOCKED: "A person decides.",
    State.CANCELLED: "Nothing. Putting the label on again starts anew.",
    State.DONE: "Nothing. The pull request is merged.",
}

_RESUME = "then comment /fixwright resume on the issue"

_WAITS_FOR = {
    Reason.NEEDS_INFORMATION: f"An answer to the question on the issue; {_RESUME}.",
    Reason.AWAITING_APPROVAL: "A maintainer's word on what is shown: /fixwright approve, retry or cancel.",
    Reason.NOT_REPRODUCIBLE: f"Steps that show the fault; {_RESUME}.",
    Reason.FLAKY_BASELINE: f"Tests that give the same result twice on the unchanged code; {_RESUME}.",
    Reason.ENVIRONMENT: f"A test command that runs, see test.command in .fixwright.yml; {_RESUME}.",
    Reason.UNPUBLISHED: f"What keeps the finished work from being published, mended; {_RESUME}.",
    Reason.GUARD: "A maintainer's look at the findings: allows each by its id, or has it tried once more.",
    Reason.NO_CHANGE: f"A hint where the fault is; {_RESUME}.",
    Reason.REPEATED_DIFF: f"A hint that leads elsewhere; {_RESUME}.",
    Reason.TASK_LIMIT: "A decision: /fixwright resume goes on from the saved work with a new budget.",
    Reason.UNPRICED: "A price: the operator sets FIXWRIGHT_MODEL_PRICES as the issue says; then resume.",
    Reason.ATTEMPTS_EXHAUSTED: f"A hint, or a smaller issue; {_RESUME}.",
    Reason.CRASH_LOOP: "The operator: the worker ended several times on this task; see its log, then resume.",
    Reason.CONFIG: f"A correct .fixwright.yml or setting; {_RESUME}.",
    Reason.PROTECTED_PATH: "A maintainer: reads the change of protected paths and allows it, or makes it.",
    Reason.BRANCH_MOVED: f"Somebody pushed to the branch: keep or remove that work; {_RESUME}.",
    Reason.CONFLICT: f"The base branch merged into the task's branch, or that branch deleted; {_RESUME}.",
    Reason.TAKEN: "Nothing: somebody else has the issue; /fixwright run goes ahead all the same.",
    Reason.EXPIRED: "A review of the draft that was left alone, or its end; /fixwright run goes on with it.",
    Reason.CI_RED: f"A look at the failed jobs of the pull request; {_RESUME}.",
    Reason.SANDBOX: "The operator: no sandbox that holds can be had; see the worker's log, then resume.",
    Reason.INTERNAL_ERROR: "The operator: see the worker's log, then resume.",
    Reason.NOT_PERMITTED: "Somebody with write permission who puts the label on.",
    Reason.RIGHT_LOST: f"A maintainer who wants the work: who asked may not ask any more; {_RESUME}.",
    Reason.OUT_OF_REACH: "A repository that can be written to: see why it cannot; then it goes on by itself.",
    Reason.VISIBILITY_CHANGED: f"A maintainer's look: the repository was made public or private; {_RESUME}.",
    Reason.WITHDRAWN: "Nothing: it was stopped, as asked.",
}


_PLAIN_REASONS = {
    Reason.UNPUBLISHED: "done, not published",
    Reason.GUARD: "change refused",
    Reason.TASK_LIMIT: "limit reached",
    Reason.UNPRICED: "no price known",
    Reason.CONFIG: "wrong configuration",
    Reason.REPEATED_DIFF: "same change again",
    Reason.CRASH_LOOP: "stopped the service",
    Reason.CI_RED: "continuous integration red",
}
"""Reasons whose own names are words of ours and not of an operator."""


def next_step(task: Task) -> str:
    """Say what happens next with a task, and who has to act."""
    if task.reason is not None and task.state in {State.BLOCKED, State.CANCELLED}:
        return _WAITS_FOR[task.reason]
    if task.state is State.QUEUED and task.not_before is not None:
        return f"It waits until {task.not_before:%Y-%m-%d %H:%M} UTC."
    return _NEXT[task.state]


def reason_name(reason: Reason) -> str:
    """Write a reason as words."""
    return _PLAIN_REASONS.get(reason) or reason.value.replace("_", " ")


OUTCOME_WORDS = {
    Outcome.VERIFIED: "verified",
    Outcome.UNVERIFIED: "not verified",
    Outcome.REFUSED: "refused",
    Outcome.NO_CHANGE: "no change",
    Outcome.DECLINED: "could not go on",
    Outcome.UNJUDGED: "could not be judged",
    Outcome.REPEATED: "same change again",
    Outcome.TASK_LIMIT: "limit reached",
    Outcome.DAILY_LIMIT: "the day's budget used up",
    Outcome.TRANSIENT: "passing trouble",
    Outcome.INTERRUPTED: "interrupted",
    Outcome.ORPHANED: "service stopped",
    Outcome.CANCELLED: "cancelled",
}

ADMISSION_WORDS = {
    Admission.QUEUED: ("queued", "It asked for work, and a task was made of it."),
    Admission.SIGNAL: ("told to its task", "A known task heard of it; the worker decides what follows."),
    Admission.DUPLICATE: ("duplicate", "It came before and changes nothing."),
    Admission.LIVE_TASK: ("under way already", "The issue is being worked on; one task per issue."),
    Admission.DONE_TASK: ("done already", "The issue's pull request is merged."),
    Admission.NO_TASK: ("no task", "It is about an issue or pull request that nobody asked us to work on."),
    Admission.NOT_SERVED: ("not served", "The repository is not in FIXWRIGHT_REPOSITORIES."),
    Admission.OWN_EVENT: ("our own, or a bot's", "Machines ask for nothing here."),
    Admission.OTHER_LABEL: ("another label", "The label is none that asks for work."),
    Admission.UNINTERESTING: ("means nothing here", "Well-formed, and nothing that the service acts on."),
    Admission.ERRAND: ("errand", "It concerns no single task; the worker looks at the forge."),
    Admission.TOO_OLD: ("too old", "It asked for work more than a day ago; put the label on again."),
    Admission.QUEUE_FULL: (
        "queue full",
        "As many issues wait as may; a sweep takes it up when there is room.",
    ),
    Admission.NOTED: ("noted", "Written down; nothing follows from it by itself."),
    Admission.NOT_TRUSTED: ("not trusted", "Who asked may not, or the issue was rewritten since."),
}
"""What was decided at the door, in two lengths."""

PHASES = ("prepare", "setup", "baseline", "localize", "agent", "check", "verify")
"""An attempt's phases in their usual order; `setup` only where something has to be installed."""

PHASE_WORDS = {
    "prepare": "Fetch and check out",
    "setup": "Install",
    "baseline": "Tests before",
    "localize": "Find suspects",
    "agent": "Agent at work",
    "check": "Guard",
    "verify": "Verify",
    "publish": "Publish",
}


def event_words(kind: str) -> str:
    """Write an event's class name as words: IssueLabelled as "Issue labelled"."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", kind).capitalize()


def lasting(seconds: float) -> str:
    """Write a span of time, two units at most."""
    if seconds < 60:
        return f"{max(0.0, seconds):.1f} s"
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    if seconds < 86400:
        return f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60:02d} min"
    return f"{int(seconds) // 86400} d {int(seconds) % 86400 // 3600} h"


def ago(moment: datetime, now: datetime) -> str:
    """Write how long ago, or in how long, a moment is; one unit, and the date beyond four weeks."""
    seconds = (now - moment).total_seconds()
    distance = abs(seconds)
    if distance < 5:
        return "just now"
    for length, unit in ((60, "s"), (3600, "min"), (86400, "h"), (28 * 86400, "d")):
        if distance < length:
            size = {"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
            words = f"{int(distance // size)} {unit}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return f"{moment.astimezone(UTC):%Y-%m-%d}"
