"""What a task may still cost today because a guest of the open API asked for it."""

from __future__ import annotations

from collections.abc import Callable

from domain.guests import GUEST
from domain.model import Attempt, Money, Task
from domain.ports import Ledger, Meter

GUESTS_SPENT = "Guests of the open API have spent what they may today; this goes on tomorrow."

Room = Callable[[], Money]
"""Return the dollars that the runs of guests may still cost today."""


def why_wait(task: Task, room: Room | None) -> str:
    """Return why a guest's task waits, "" where it need not."""
    left = _left(task, room)
    return GUESTS_SPENT if left is not None and left <= 0 else ""


def tighten(meter: Meter, task: Task, attempt: Attempt, room: Room | None, ledger: Ledger) -> None:
    """Hold a guest's attempt to what is left today, besides what it has cost already."""
    left = _left(task, room)
    if left is not None:
        most = max(Money(0), left + ledger.spent_on_attempt(attempt.id))
        meter.tighten(max_iterations=None, max_cost_per_task_usd=most)


def _left(task: Task, room: Room | None) -> Money | None:
    return room() if room is not None and task.requested_by.id == GUEST.id else None
