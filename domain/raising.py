"""Raising one task's cap from a comment: what was asked for, and whether that may be."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum

from domain.budget import QUANTUM, CapRaise, Caps
from domain.events import COMMAND_START
from domain.model import Money, Task
from domain.states import LIVE_STATES

_COMMAND = re.compile(
    rf"{COMMAND_START}[ \t]++budget[ \t]++\$?(?P<amount>\d{{1,9}}(?:\.\d{{1,9}})?)"
    r"(?:[ \t]*+(?:\$|usd))?[ \t]*+",
    re.IGNORECASE | re.ASCII,
)


class RaiseRefusal(StrEnum):
    """Why a cap is not raised. Each is said once per task."""

    NOT_PERMITTED = "not_permitted"
    NOT_AN_AMOUNT = "not_an_amount"
    ENDED = "ended"
    AGAIN = "again"
    NOT_MORE = "not_more"
    TOO_MUCH = "too_much"


def wanted_cap(comment: str) -> Money | None:
    """Return the dollars in a comment's first line, `/fixwright budget 3.00`, or None where none are."""
    first_line = comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
    match = _COMMAND.fullmatch(first_line)
    return Decimal(match["amount"]).quantize(QUANTUM) if match else None


def decide_raise(
    wanted: Money | None, task: Task, *, caps: Caps, earlier: CapRaise | None, permitted: bool
) -> Money | RaiseRefusal:
    """Return the new cap of one attempt at this task, or why there is none.

    `earlier` is the raise that the task has had. The first refusal that fits is the answer.
    """
    if not permitted:
        return RaiseRefusal.NOT_PERMITTED
    if task.state not in LIVE_STATES:
        return RaiseRefusal.ENDED
    if earlier is not None:
        return RaiseRefusal.AGAIN
    if wanted is None:
        return RaiseRefusal.NOT_AN_AMOUNT
    if wanted <= caps.max_cost_per_task_usd:
        return RaiseRefusal.NOT_MORE
    return wanted if wanted <= caps.max_raised_cost_per_task_usd else RaiseRefusal.TOO_MUCH
