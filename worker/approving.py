"""Answers `/fixwright approve`: lets exactly what waits go on, or says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from domain.approving import ApproveRefusal, Gate, Waiting, decide_approval, named_in, waiting_at
from domain.events import CommandGiven
from domain.model import Task
from domain.ports import Forge, TaskQueue
from worker import approval_words

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDesk:
    """Decides about maintainers' words; an approval is a row, and holds for exactly what it names."""

    queue: TaskQueue
    forges: Mapping[str, Forge]

    def answer(self, task: Task, command: CommandGiven) -> tuple[str, bool]:
        """Decide one command of somebody who may; return the decision, and whether what waits may go on.

        May be repeated. Raises ForgeError, StoreUnavailable.
        """
        waiting, named = self.waiting(task), named_in(command.text)
        is_seen = bool(waiting and not named and self._is_seen(task, waiting, command.at))
        decision = decide_approval(waiting, named, is_seen=is_seen)
        if isinstance(decision, ApproveRefusal):
            self._say(command, approval_words.not_approved(decision, waiting))
            return f"approve: {decision}", False
        self.queue.allow(task, decision.word, by=command.actor, comment_id=command.comment_id)
        log.info("approved", task=task.id, what=decision.word, by=command.actor.login)
        self._say(command, approval_words.approved(command.actor.login, decision, command.given_by))
        return f"approve: {decision.word}", True

    def waiting(self, task: Task) -> Waiting | None:
        """Return what a task waits with."""
        attempts = self.queue.attempts(task.id)
        if not attempts:
            return None
        last = attempts[-1]
        return waiting_at(task, last, self.queue.verdict(last), self.queue.report(last)[0])

    def waits_with_plan(self, task: Task) -> bool:
        """Tell whether a task waits for a word about its plan."""
        waiting = self.waiting(task)
        return waiting is not None and waiting.gate is Gate.PLAN

    def _is_seen(self, task: Task, waiting: Waiting, said_at: datetime | None) -> bool:
        """Tell whether what waits stood on the issue when a word was said; both times are the forge's."""
        forge = self.forges[task.issue.forge]
        ours = [
            comment.created_at
            for comment in forge.comments(task.issue)
            if comment.author.id == forge.identity.id and waiting.name in comment.body
        ]
        return said_at is not None and bool(ours) and min(ours) <= said_at

    def _say(self, command: CommandGiven, text: str) -> None:
        self.forges[command.issue.forge].add_comment(command.issue, f"answer-{command.comment_id}", text)
