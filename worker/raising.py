"""Answers `/fixwright budget 3.00`: raises a task's cap once, and says so, or says once why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.budget import Caps
from domain.events import CommandGiven
from domain.model import Money, Permission, Task
from domain.policy import may_trigger
from domain.ports import Forge, Ledger
from domain.raising import RaiseRefusal, decide_raise, wanted_cap
from worker import announce

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDesk:
    """Decides who may raise what; the raise itself is a row, read by every reservation from then on."""

    ledger: Ledger
    forges: Mapping[str, Forge]
    caps: Caps

    def answer(self, task: Task, command: CommandGiven, permission: Permission) -> tuple[str, bool]:
        """Decide one command; return the decision for the record, and whether it raised the cap.

        May be repeated. Raises ForgeError, StoreUnavailable.
        """
        decision = self._decide(task, command, permission)
        if isinstance(decision, RaiseRefusal):
            self._say(task, decision, announce.not_raised(decision, self.caps))
            return f"budget: {decision}", False
        self._say(task, "raised", announce.raised(self.ledger.standing(task), self.caps))
        return f"budget: raised to {decision}", True

    def _say(self, task: Task, kind: str, text: str) -> None:
        self.forges[task.issue.forge].add_comment(task.issue, f"budget-{kind}-{task.id}", text)

    def _decide(self, task: Task, command: CommandGiven, permission: Permission) -> Money | RaiseRefusal:
        earlier = self.ledger.standing(task).raised
        if earlier is not None and earlier.comment_id == command.comment_id:
            return earlier.amount  # it was done before, and the answer did not get out
        decision = decide_raise(
            wanted_cap(command.text),
            task,
            caps=self.caps,
            earlier=earlier,
            permitted=may_trigger(permission, command.actor),
        )
        if isinstance(decision, RaiseRefusal):
            return decision
        if not self.ledger.raise_cap(task, decision, by=command.actor, comment_id=command.comment_id):
            return RaiseRefusal.AGAIN
        log.info("cap raised", task=task.id, to=str(decision), by=command.actor.login)
        return decision
