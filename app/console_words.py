"""What the console says about states and reasons: for each, what happens next and who does it."""

from __future__ import annotations

from domain.model import Reason, Task
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
