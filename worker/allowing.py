"""Answers `/fixwright allow NAME`: lets one exact change of protected paths through, or says once why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.allowing import AllowRefusal, decide_allowance, named_change
from domain.events import CommandGiven
from domain.model import Permission, ProtectedChange, Task
from domain.policy import may_trigger
from domain.ports import Forge, TaskQueue
from worker import announce

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowanceDesk:
    """Decides who may allow what; the allowance itself is a row, and holds for that change on that issue."""

    queue: TaskQueue
    forges: Mapping[str, Forge]

    def answer(self, task: Task, command: CommandGiven, permission: Permission) -> tuple[str, bool]:
        """Decide one command; return the decision for the record, and whether the change is allowed now.

        May be repeated. Raises ForgeError, StoreUnavailable.
        """
        asked = self._asked_about(task)
        named = named_change(command.text)
        decision = decide_allowance(
            named, task, waiting=asked, permitted=may_trigger(permission, command.actor)
        )
        if isinstance(decision, AllowRefusal):
            waiting = next(reversed(asked), "")
            self._say(task, f"{decision}-{waiting[:12]}", announce.not_allowed(decision, waiting))
            return f"allow: {decision}", False
        if self.queue.allow(task, decision, by=command.actor, comment_id=command.comment_id):
            log.info("protected change allowed", task=task.id, change=decision, by=command.actor.login)
        self._say(task, decision[:12], announce.allowed(command.actor.login, asked[decision]))
        return f"allow: {decision}", True

    def waits_for(self, task: Task, decision: str) -> bool:
        """Tell whether the change that was allowed is the one at which the task stopped last."""
        last = next(reversed(self._asked_about(task)), None)
        return last is not None and decision == f"allow: {last}"

    def _asked_about(self, task: Task) -> dict[str, ProtectedChange]:
        """Return the changes that this task's attempts stopped at, by name, the newest last."""
        found: dict[str, ProtectedChange] = {}
        for attempt in self.queue.attempts(task.id):
            verdict = self.queue.verdict(attempt)
            if verdict is not None and verdict.protected is not None:
                found.pop(verdict.protected.name, None)
                found[verdict.protected.name] = verdict.protected
        return found

    def _say(self, task: Task, kind: str, text: str) -> None:
        self.forges[task.issue.forge].add_comment(task.issue, f"allow-{kind}-{task.id}", text)
