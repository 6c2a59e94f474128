"""Gates: what waits for a maintainer's approval, by which name, and what a word lets through. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum

from domain.claim import Restatement
from domain.events import COMMAND_START
from domain.model import Attempt, Outcome, Reason, Task, Verdict
from domain.snapshot import snapshot_hash
from domain.states import State

_COMMAND = re.compile(
    rf"{COMMAND_START}[ \t]++approve(?:[ \t]++(?P<which>\S{{1,100}}))?[ \t]*+", re.IGNORECASE | re.ASCII
)
_LEAST_NAME = 7
"""As many digits of a name must be given as git asks for."""


class Gate(StrEnum):
    """Before what a task waits: before the agent edits, or before anything is pushed."""

    PLAN = "plan"
    PUBLISH = "publish"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits. `name` is 40 hexadecimal digits: a tree that was verified, or a plan's own name.

    `attempt_id` is whose it is: what was rejected with its attempt needs another word when it comes again.
    """

    gate: Gate
    name: str
    attempt_id: int

    @property
    def word(self) -> str:
        """How the word that lets it through is written down among a task's allowances."""
        return f"{self.gate}-{self.name}-{self.attempt_id}"


REJECTED = frozenset({Outcome.CANCELLED, Outcome.INTERRUPTED})
"""Outcomes of attempts whose words count no more: a maintainer has cancelled, or asked for another one."""


class ApproveRefusal(StrEnum):
    """Why nothing is approved."""

    NOTHING_WAITS = "nothing waits"
    ANOTHER = "another one waits"
    UNSEEN = "written before it was shown"


def named_in(comment: str) -> str:
    """Return the name in a comment's first line, `/fixwright approve NAME`, "" where it gives none."""
    first_line = comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
    match = _COMMAND.fullmatch(first_line)
    return (match["which"] or "").lower() if match else ""


def plan_waiting(task: Task, attempt: Attempt, restatement: Restatement) -> Waiting:
    """Return a plan as something that may be approved: it stands for this reading of this text."""
    said = f"{snapshot_hash(task.title, task.body)}\n{restatement.model_dump_json()}"
    digest = hashlib.sha256(said.encode("utf-8", "backslashreplace")).hexdigest()
    return Waiting(gate=Gate.PLAN, name=digest[:40], attempt_id=attempt.id)


def waiting_at(
    task: Task, attempt: Attempt | None, verdict: Verdict | None, restatement: Restatement | None
) -> Waiting | None:
    """Return what a task waits with, by its open attempt, None where it waits for no approval."""
    is_waiting = task.state is State.BLOCKED and task.reason is Reason.AWAITING_APPROVAL
    if not is_waiting or attempt is None or attempt.outcome is not None:
        return None
    if verdict is not None and verdict.verified:
        return Waiting(gate=Gate.PUBLISH, name=verdict.tree, attempt_id=attempt.id)
    return plan_waiting(task, attempt, restatement) if restatement is not None else None


def decide_approval(waiting: Waiting | None, named: str, *, is_seen: bool) -> Waiting | ApproveRefusal:
    """Return what a maintainer's word approves, or why nothing is.

    A word without a name is for what its writer had before them: `is_seen` says that it was shown by then.
    """
    if waiting is None:
        return ApproveRefusal.NOTHING_WAITS
    if named:
        fits = len(named) >= _LEAST_NAME and waiting.name.startswith(named)
        return waiting if fits else ApproveRefusal.ANOTHER
    return waiting if is_seen else ApproveRefusal.UNSEEN
