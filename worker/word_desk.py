"""Hears what people write on issues without a command: an answer that was waited for, a word in mid-work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.errors import ForgeUnavailable, StaleWrite
from domain.model import Reason, Task
from domain.noted import IssueCommented
from domain.policy import may_trigger
from domain.ports import Forge, TaskQueue
from domain.states import State, Trigger

MOST_ROUNDS = 3
"""How often an answer alone begins another reading of the issue; then a maintainer's command does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDesk:
    """Decides what a comment means for its task. What was written is read afresh by whoever needs it."""

    queue: TaskQueue
    forges: Mapping[str, Forge]
    _news: set[int] = field(default_factory=set)

    def hear(self, task: Task, event: IssueCommented) -> str:
        """Decide one comment; return the decision for the record. Raises ForgeError, StoreUnavailable."""
        forge = self.forges.get(task.issue.forge)
        if forge is None:
            raise ForgeUnavailable(f"the forge {task.issue.forge} is not configured any more")
        if event.actor.is_bot or event.actor.id == forge.identity.id:
            return "nothing to do: written by a machine"
        if task.state is State.QUEUED:
            return "heard: for the attempt that begins next"
        is_answer = task.state is State.BLOCKED and task.reason is Reason.NEEDS_INFORMATION
        if task.state is not State.RUNNING and not is_answer:
            return f"nothing to do: the task is {task.state}"
        may_write = may_trigger(forge.permission_of(task.issue.repository_id, event.actor), event.actor)
        if task.state is State.RUNNING:
            if not may_write:
                return "nothing to do: people without write access instruct nobody"
            self.note(task)
            return "heard: the agent reads it before its next step"
        if not may_write and forge.issue(task.issue).author.id != event.actor.id:
            return "nothing to do: neither its author nor a maintainer answers"
        return self._go_on(task, event)

    def note(self, task: Task) -> None:
        """Remember that somebody has written something for the agent at work."""
        self._news.add(task.id)

    def take_news(self, task: Task) -> bool:
        """Tell whether somebody has written since the last call."""
        has_news = task.id in self._news
        self._news.discard(task.id)
        return has_news

    def _go_on(self, task: Task, event: IssueCommented) -> str:
        rounds = self._rounds(task)
        if not 0 < rounds < MOST_ROUNDS:
            return "kept: a maintainer decides" if rounds else "nothing to do: nothing was asked"
        try:
            self.queue.move(task, Trigger.RESUMED)
        except StaleWrite:
            return self.hear(self.queue.task(task.id), event)
        return str(Trigger.RESUMED)

    def _rounds(self, task: Task) -> int:
        """Count the readings of the issue that ended with questions."""
        readings = (self.queue.report(attempt)[0] for attempt in self.queue.attempts(task.id))
        return sum(reading is not None and reading.is_ambiguous for reading in readings)
