"""Allowing one exact change of protected paths from a comment: what was named, and whether that may be."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.model import Actor, Task
from domain.states import LIVE_STATES

_COMMAND = re.compile(r"/fixwright[ \t]++allow[ \t]++([0-9a-f]{40})[ \t]*+", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """A maintainer's word that one exact change of protected paths may be made on one issue."""

    change: str
    by: Actor
    comment_id: str
    at: datetime


class AllowRefusal(StrEnum):
    """Why a change is not allowed. Each is said once per task."""

    NOT_PERMITTED = "not_permitted"
    NOT_A_NAME = "not_a_name"
    ENDED = "ended"
    NOT_WAITING = "not_waiting"


def named_change(comment: str) -> str | None:
    """Return the name in a comment's first line, `/fixwright allow NAME`, or None where there is none."""
    first_line = comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
    match = _COMMAND.fullmatch(first_line)
    return match[1].lower() if match else None


def decide_allowance(
    named: str | None, task: Task, *, waiting: Collection[str], permitted: bool
) -> str | AllowRefusal:
    """Return the name of the change that is allowed, or why none is.

    `waiting` are the names of this task's changes that a maintainer was asked about. The first refusal that
    fits is the answer.
    """
    if not permitted:
        return AllowRefusal.NOT_PERMITTED
    if task.state not in LIVE_STATES:
        return AllowRefusal.ENDED
    if named is None:
        return AllowRefusal.NOT_A_NAME
    return named if named in waiting else AllowRefusal.NOT_WAITING
