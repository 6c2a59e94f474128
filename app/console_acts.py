"""What can be done from a task's page, and how the press of a button becomes a command for the worker."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from app.console_sessions import Viewer
from app.console_view import TaskView
from domain.events import COMMAND_PREFIX, CommandGiven, Verb
from domain.model import Task
from domain.operators import CONSOLE_PROVIDER, OPERATOR, OPERATOR_PROVIDER, console_comment
from domain.ports import Delivery
from domain.states import LIVE_STATES, State, Trigger, is_legal

_AMOUNT = re.compile(r"\d{1,7}(?:[.,]\d{1,4})?", re.ASCII)
_NAME = re.compile(r"[0-9a-f]{40}", re.ASCII)


class BadAct(ValueError):
    """What was asked for is nothing that can be done; the words are for the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """Which buttons a task's page has now. `approves` says what an approval lets through, "" for nothing."""

    approves: str = ""
    name: str = ""
    may_cancel: bool = False
    may_retry: bool = False
    may_raise: bool = False

    @property
    def any(self) -> bool:
        """Whether there is any button at all."""
        return bool(self.approves) or self.may_cancel or self.may_retry or self.may_raise


def acts_for(view: TaskView, viewer: Viewer) -> Acts:
    """Return the buttons that make sense; the worker decides what may be."""
    if not viewer.session:
        return Acts()
    task, waiting = view.task, view.waiting
    return Acts(
        approves=waiting.gate.value if waiting else "",
        name=waiting.name if waiting else "",
        may_cancel=is_legal(task.state, Trigger.CANCELLED),
        may_retry=task.state is State.CANCELLED or is_legal(task.state, Trigger.RESUMED),
        may_raise=task.state in LIVE_STATES and view.raised is None,
    )


def command_text(act: str, form: dict[str, str]) -> tuple[Verb, str]:
    """Return the command that a button stands for, as it would be written in a comment. Raises BadAct."""
    if act == "cancel":
        return Verb.CANCEL, f"{COMMAND_PREFIX} cancel"
    if act == "retry":
        return Verb.RETRY, f"{COMMAND_PREFIX} retry"
    if act == "approve":
        name = form.get("name", "")
        if not _NAME.fullmatch(name):
            raise BadAct("The page does not say what is approved; load it again.")
        return Verb.APPROVE, f"{COMMAND_PREFIX} approve {name}"
    if act == "budget":
        amount = form.get("amount", "").strip().removeprefix("$").replace(",", ".")
        if not _AMOUNT.fullmatch(amount):
            raise BadAct("The new cap is an amount of dollars, such as 3.00.")
        return Verb.BUDGET, f"{COMMAND_PREFIX} budget {amount}"
    raise BadAct("There is no such button.")


def delivery_of(task: Task, viewer: Viewer, verb: Verb, text: str, now: datetime) -> Delivery:
    """Return a press of a button as a delivery of our own, for the same inbox as the forges'.

    The operator's word counts as it is; that of somebody logged in with a forge's account is looked at like
    a comment of theirs, with a fresh look at what they may do.
    """
    mark = secrets.token_hex(16)
    command = CommandGiven(
        issue=task.issue,
        actor=viewer.actor or OPERATOR,
        verb=verb,
        comment_id=console_comment(mark),
        text=text,
    )
    body = json.dumps({"by": viewer.name, "task": task.id, "text": text, "mark": mark}).encode()
    return Delivery(
        provider=OPERATOR_PROVIDER if viewer.is_operator else CONSOLE_PROVIDER,
        delivery_id=f"console-{mark}",
        body_sha256=hashlib.sha256(body).hexdigest(),
        body=body,
        received_at=now,
        event=command,
    )
