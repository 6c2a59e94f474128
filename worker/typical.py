"""What an attempt at work like this has cost in the same repository, by our own records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from domain.budget import QUANTUM
from domain.model import Money, Outcome, Task
from domain.ports import Ledger, TaskQueue

LEAST_ATTEMPTS = 3
"""With fewer on record, nothing is called typical."""

MOST_ATTEMPTS = 20
"""The newest so many count: models, prices and the code change."""

_MOST_TASKS = 100

_WHOLE = frozenset(
    {
        *(Outcome.VERIFIED, Outcome.UNVERIFIED, Outcome.REFUSED, Outcome.REPEATED),
        *(Outcome.NO_CHANGE, Outcome.TASK_LIMIT, Outcome.UNJUDGED),
    }
)
"""Outcomes of attempts that the agent has worked through; the others cost less than one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical:
    """Dollars of one attempt, by `attempts` of them at work of the same kind in the same repository."""

    middle: Money
    lowest: Money
    highest: Money
    attempts: int


def typical_of(costs: Sequence[Money]) -> Typical | None:
    """Return what is typical of these costs, None where they are too few to tell."""
    if len(costs) < LEAST_ATTEMPTS:
        return None
    return Typical(
        middle=Money(median(costs)).quantize(QUANTUM),
        lowest=min(costs),
        highest=max(costs),
        attempts=len(costs),
    )


def typical_cost(task: Task, queue: TaskQueue, ledger: Ledger) -> Typical | None:
    """Return what attempts at tasks of this repository and category have cost. Raises StoreUnavailable."""
    place = (task.issue.forge, task.issue.repository_id)
    alike = [
        each
        for each in queue.tasks()
        if (each.issue.forge, each.issue.repository_id) == place and each.category is task.category
    ]
    costs: list[Money] = []
    for each in alike[:_MOST_TASKS]:
        whole = [attempt for attempt in queue.attempts(each.id) if attempt.outcome in _WHOLE]
        costs += [ledger.spent_on_attempt(attempt.id) for attempt in reversed(whole)]
        if len(costs) >= MOST_ATTEMPTS:
            break
    return typical_of(costs[:MOST_ATTEMPTS])
