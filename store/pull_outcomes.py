"""Writes down what deliveries tell of our pull requests, whatever else follows from them."""

from __future__ import annotations

import sqlite3

from domain.events import Event, PullClosed
from domain.noted import ReviewGiven
from domain.ports.contracts import OutcomeKind
from store.rows import storable

_OUTCOME = """
    INSERT INTO pull_outcomes (task_id, pull_number, kind, source, actor_id, actor_login, at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""
_REVIEWED = {"changes_requested": OutcomeKind.CHANGES_ASKED, "approved": OutcomeKind.APPROVED}


def note_outcome(connection: sqlite3.Connection, event: Event, task_id: int | None, at: str) -> None:
    """Add the outcome that an event is, once; `task_id` is whose pull request it is about, if ours."""
    if task_id is None:
        return
    if isinstance(event, PullClosed):
        number, source = event.issue.number, ""
        kind = OutcomeKind.MERGED if event.merged else OutcomeKind.CLOSED
    elif isinstance(event, ReviewGiven) and event.number is not None and event.state in _REVIEWED:
        number, kind, source = event.number, _REVIEWED[event.state], event.review_id
    else:
        return
    by = event.actor
    values = (task_id, number, kind, storable(source), by.id, storable(by.login), at)
    connection.execute(_OUTCOME, values)
