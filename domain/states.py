"""The seven task states and the one table of moves between them."""

from __future__ import annotations

from enum import StrEnum

from domain.errors import IllegalTransition


class State(StrEnum):
    """Where a task stands. BLOCKED always means: a person decides next, and the reason says what."""

    QUEUED = "queued"
    RUNNING = "running"
    WATCHING = "watching"
    IN_REVIEW = "in_review"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    DONE = "done"


class Trigger(StrEnum):
    """What moves a task."""

    ADMITTED = "admitted"
    CLAIMED = "claimed"
    DEFERRED = "deferred"
    PUBLISHED = "published"
    WATCHED = "watched"
    CI_SETTLED = "ci_settled"
    RETRIED = "retried"
    RELEASED = "released"
    BLOCKED = "blocked"
    RESUMED = "resumed"
    RELABELLED = "relabelled"
    MERGED = "merged"
    CANCELLED = "cancelled"


class Note(StrEnum):
    """What is written into a task's history beside its moves."""

    BUDGET_RAISED = "budget_raised"
    CHANGE_ALLOWED = "change_allowed"


_ENDED_BY_PEOPLE = {Trigger.MERGED: State.DONE, Trigger.CANCELLED: State.CANCELLED}

TRANSITIONS: dict[State, dict[Trigger, State]] = {
    State.QUEUED: {
        Trigger.CLAIMED: State.RUNNING,
        Trigger.DEFERRED: State.QUEUED,
        Trigger.BLOCKED: State.BLOCKED,
        **_ENDED_BY_PEOPLE,
    },
    State.RUNNING: {
        Trigger.PUBLISHED: State.IN_REVIEW,
        Trigger.WATCHED: State.WATCHING,
        Trigger.RETRIED: State.QUEUED,
        Trigger.RELEASED: State.QUEUED,
        Trigger.BLOCKED: State.BLOCKED,
        **_ENDED_BY_PEOPLE,
    },
    State.WATCHING: {
        Trigger.CI_SETTLED: State.IN_REVIEW,
        Trigger.RETRIED: State.QUEUED,
        Trigger.BLOCKED: State.BLOCKED,
        Trigger.RESUMED: State.QUEUED,
        **_ENDED_BY_PEOPLE,
    },
    State.IN_REVIEW: {Trigger.RESUMED: State.QUEUED, **_ENDED_BY_PEOPLE},
    State.BLOCKED: {Trigger.RESUMED: State.QUEUED, **_ENDED_BY_PEOPLE},
    State.CANCELLED: {Trigger.RELABELLED: State.QUEUED, Trigger.MERGED: State.DONE},
    State.DONE: {},
}

FIRST_STATE = State.QUEUED
"""Where `Trigger.ADMITTED` puts a task that did not exist."""

LIVE_STATES = frozenset(State) - {State.CANCELLED, State.DONE}
"""States in which an issue has somebody, or something, still to act on it."""

CAPPED_TRIGGERS = frozenset({Trigger.RETRIED, Trigger.RELEASED, Trigger.DEFERRED})
"""Moves that our own code makes back to QUEUED; each has a counter or a date that bounds it."""


def is_legal(state: State, trigger: Trigger) -> bool:
    """Tell whether the table has this move."""
    return trigger in TRANSITIONS[state]


def after(state: State, trigger: Trigger) -> State:
    """Return the state that `trigger` leads to.

    Raises:
        IllegalTransition: the table has no such move.
    """
    try:
        return TRANSITIONS[state][trigger]
    except KeyError:
        raise IllegalTransition(f"a task that is {state} cannot be {trigger}") from None


def chart() -> str:
    """Draw the table as a Mermaid state chart; the one in the docs is compared with this."""
    lines = ["stateDiagram-v2", f"    [*] --> {FIRST_STATE.name}: {Trigger.ADMITTED}"]
    for state, moves in TRANSITIONS.items():
        lines += [f"    {state.name} --> {target.name}: {trigger}" for trigger, target in moves.items()]
    return "\n".join(lines)
