"""Answers `/fixwright allow NAME`: lets one change or finding through on one issue, or says once why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.allowing import (
    AllowRefusal,
    asked_about,
    decide_allowance,
    is_allowable,
    is_cleared,
    named_change,
    refusing,
)
from domain.events import CommandGiven
from domain.model import Finding, Permission, ProtectedChange, Task
from domain.policy import may_trigger
from domain.ports import Forge, TaskQueue
from worker import announce

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowanceDesk:
    """Decides who may allow what; the allowance itself is a row, and holds for that alone, on that issue."""

    queue: TaskQueue
    forges: Mapping[str, Forge]

    def answer(self, task: Task, command: CommandGiven, permission: Permission) -> tuple[str, bool]:
        """Decide one command; return the decision for the record, and whether its subject is allowed now.

        May be repeated. Raises ForgeError, StoreUnavailable.
        """
        known = self._allowable(task)
        decision = decide_allowance(
            named_change(command.text), task, waiting=known, permitted=may_trigger(permission, command.actor)
        )
        if isinstance(decision, AllowRefusal):
            waiting = next(iter(self._left(task)), "")
            kind = "-".join(filter(None, (decision, _key(waiting))))
            self._say(task, kind, announce.not_allowed(decision, waiting))
            return f"allow: {decision}", False
        if self.queue.allow(task, decision, by=command.actor, comment_id=command.comment_id):
            log.info("change or finding allowed", task=task.id, change=decision, by=command.actor.login)
        self._say(task, _key(decision), self._granted(task, command.actor.login, known[decision]))
        return f"allow: {decision}", True

    def is_clear(self, task: Task) -> bool:
        """Tell whether all at which the task stopped last has been allowed."""
        attempts = self.queue.attempts(task.id)
        verdict = self.queue.verdict(attempts[-1]) if attempts else None
        return verdict is not None and is_cleared(verdict, self.queue.allowances(task.id))

    def _granted(self, task: Task, login: str, subject: ProtectedChange | Finding) -> str:
        if isinstance(subject, ProtectedChange):
            return announce.allowed(login, subject)
        return announce.allowed_finding(login, subject, left=self._left(task), goes_on=self.is_clear(task))

    def _left(self, task: Task) -> tuple[str, ...]:
        """Return the names that the last change still waits for."""
        attempts = self.queue.attempts(task.id)
        verdict = self.queue.verdict(attempts[-1]) if attempts else None
        said = {word.change for word in self.queue.allowances(task.id)}
        return tuple(name for name in asked_about(verdict) if name not in said) if verdict else ()

    def _allowable(self, task: Task) -> dict[str, ProtectedChange | Finding]:
        """Return what this task's attempts were refused for and maintainers may allow, by name."""
        found: dict[str, ProtectedChange | Finding] = {}
        for attempt in self.queue.attempts(task.id):
            verdict = self.queue.verdict(attempt)
            if verdict is None:
                continue
            if verdict.protected is not None:
                found[verdict.protected.name] = verdict.protected
            found |= {finding.id: finding for finding in refusing(verdict) if is_allowable(finding)}
        return found

    def _say(self, task: Task, kind: str, text: str) -> None:
        self.forges[task.issue.forge].add_comment(task.issue, f"allow-{kind}-{task.id}", text)


def _key(name: str) -> str:
    """Return a name as part of a comment's key."""
    return name.lower() if "-" in name else name[:12]
