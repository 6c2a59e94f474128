"""Counts the rows against what was sent: nothing lost, nothing twice, nothing that was refused. Read only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from domain.model import Task
from domain.ports import Admission
from domain.states import Trigger
from evals.door_load import TAKEN
from evals.load_plan import ASKING
from evals.load_sender import Sent
from store.database import Database
from store.history import DeliveryRecord, History
from store.tasks import SqliteTaskQueue

REFUSED = 401
BODIES_READ = 200
"""How many stored bodies are compared byte by byte."""


def violations(
    path: Path,
    sent: Sequence[Sent],
    body_of: Callable[[str, int], bytes],
    queue_of: Callable[[Database], SqliteTaskQueue],
) -> list[str]:
    """Return what is wrong in a database that nobody writes to, as lines to read; empty when all is right.

    `body_of` makes the body for a label and a number.
    """
    with Database(path) as database:
        history = History(database)
        stored = history.deliveries(10 * len(sent))
        found = [f"database: {line}" for line in database.damage()]
        found += _answers(sent)
        found += _rows(sent, stored)
        found += _bodies(history, stored, body_of)
        found += _tasks(sent, queue_of(database).tasks(), history)
    return found


def _answers(sent: Sequence[Sent]) -> Iterator[str]:
    """Each good delivery is accepted, one of each body as new; each bad signature is refused."""
    for each in sent:
        wanted = TAKEN if each.sending.well_signed else REFUSED
        if each.status != wanted:
            yield f"{each.sending.delivery_id}: answered {each.status} instead of {wanted}"
    good = [each for each in sent if each.sending.well_signed]
    new = Counter(each.sending.number for each in good if each.decision != Admission.DUPLICATE)
    for number in {each.sending.number for each in good}:
        if new[number] != 1:
            yield f"{number}: answered {new[number]} times as new"


def _rows(sent: Sequence[Sent], stored: Sequence[DeliveryRecord]) -> Iterator[str]:
    """Each distinct good delivery is stored exactly once, under one of its ids; nothing else is."""
    ids: dict[int | None, set[str]] = {}
    for each in sent:
        if each.sending.well_signed:
            ids.setdefault(each.sending.number, set()).add(each.sending.delivery_id)
    rows = Counter(row.issue_number for row in stored)
    for number in ids:
        if rows[number] != 1:
            yield f"{number}: stored {rows[number]} times"
    for row in stored:
        if row.delivery_id not in ids.get(row.issue_number, set()):
            yield f"{row.delivery_id} about {row.issue_number}: stored, but never sent so"


def _bodies(
    history: History, stored: Sequence[DeliveryRecord], body_of: Callable[[str, int], bytes]
) -> Iterator[str]:
    for row in stored[:: max(1, len(stored) // BODIES_READ)]:
        if history.delivery_body(row.id) != body_of(row.note, row.issue_number or 0):
            yield f"{row.delivery_id}: the stored body is not the one that was sent"


def _tasks(sent: Sequence[Sent], tasks: Sequence[Task], history: History) -> Iterator[str]:
    """Each issue that was asked for has one task, which was claimed once."""
    asked = {
        each.sending.number for each in sent if each.sending.well_signed and each.sending.label == ASKING
    }
    made = Counter(task.issue.number for task in tasks)
    for number in asked | set(made):
        if made[number] != (number in asked):
            yield f"{number}: has {made[number]} tasks"
    for task in tasks:
        claims = [event for event in history.task_events(task.id) if event.trigger is Trigger.CLAIMED]
        if len(claims) != 1:
            yield f"task {task.id}: claimed {len(claims)} times"
