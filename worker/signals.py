"""Signals: events about known tasks, decided with a fresh look at who sent them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import structlog

from domain.errors import ForgeError, ForgeUnavailable, NotFound, StaleWrite
from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    Uninteresting,
    Verb,
)
from domain.model import Permission, Reason, Task
from domain.noted import Noted
from domain.policy import Serving, asks_for_work, may_trigger, trigger_of
from domain.ports import Forge, Landing, Signal, TaskQueue
from domain.ports.contracts import RepositoryLabels
from domain.states import State, Trigger, is_legal
from worker.allowing import AllowanceDesk
from worker.raising import BudgetDesk

log = structlog.get_logger(__name__)

_WAITING_FOR_A_WORD = frozenset({Reason.PROTECTED_PATH, Reason.GUARD})
"""Where a task stands still for what a maintainer may allow."""


class SignalDesk:
    """Decides signals one by one, in the order in which they came; for any number of threads."""

    def __init__(
        self,
        queue: TaskQueue,
        forges: Mapping[str, Forge],
        serving: Serving,
        budget: BudgetDesk | None = None,
        labels: RepositoryLabels | None = None,
    ) -> None:
        """Without a budget desk, a word about the budget is recorded and nothing else.

        `labels` are those of repositories' own.
        """
        self._labels = labels
        self._queue = queue
        self._budget = budget
        self._allowances = AllowanceDesk(queue=queue, forges=forges)
        self._forges = forges
        self._serving = serving
        self._lock = threading.Lock()
        self._moved: list[int] = []

    def clear(self) -> None:
        """Decide all waiting signals; one whose sender cannot be looked up now waits for the next time.

        Raises StoreUnavailable.
        """
        with self._lock:
            for signal in self._queue.signals():
                self._settle(signal)

    def has_moved(self, task_id: int) -> None:
        """Have people told of a task that somebody else of this process has moved."""
        with self._lock:
            self._moved.append(task_id)

    def take_moved(self) -> list[int]:
        """Return the ids of tasks that signals have moved since the last call: people are to be told."""
        with self._lock:
            moved, self._moved = self._moved, []
        return moved

    def _settle(self, signal: Signal) -> None:
        try:
            decision = self._decide(signal)
        except ForgeUnavailable as error:
            log.warning("signal waits for the forge", signal=signal.id, error=str(error))
            return
        except ForgeError as error:
            decision = f"refused: {error}"
        self._queue.decide(signal, decision)
        log.info("signal decided", signal=signal.id, task=signal.task_id, decision=decision)

    def _decide(self, signal: Signal) -> str:
        task = self._queue.task(signal.task_id)
        permission = self._permission(signal, task)
        if isinstance(signal.event, CommandGiven) and signal.event.verb is Verb.BUDGET:
            return self._on_budget(task, signal.event, permission)
        if isinstance(signal.event, CommandGiven) and signal.event.verb is Verb.ALLOW:
            return self._on_allow(task, signal.event, permission)
        if self._must_give_way(task, signal, permission):
            self._queue.move(task, Trigger.CANCELLED, Landing(reason=Reason.NOT_PERMITTED))
            return self._decide(signal)
        trigger = trigger_of(signal.event, task, permission, self._serving_of(task))
        if trigger is None:
            return "nothing to do, or not permitted"
        outdated = self._why_outdated(signal.event, task)
        if outdated:
            return f"outdated: {outdated}"
        if not is_legal(task.state, trigger):
            return f"no-op: a task that is {task.state} cannot be {trigger}"
        asked = signal.event if isinstance(signal.event, IssueLabelled | CommandGiven) else None
        reason = Reason.WITHDRAWN if trigger is Trigger.CANCELLED else None
        try:
            self._queue.move(task, trigger, Landing(reason=reason, asked=asked))
        except StaleWrite:
            return self._decide(signal)
        self._moved.append(task.id)
        return str(trigger)

    def _why_outdated(self, event: Event, task: Task) -> str:
        """Return what shows that an event came late or out of order, or "": what stands now decides."""
        if not isinstance(event, IssueLabelled | IssueUnlabelled | IssueClosed):
            return ""
        try:
            issue = self._forge_of(task).issue(task.issue)
        except NotFound:
            return ""
        if isinstance(event, IssueClosed):
            return "the issue is open" if issue.is_open else ""
        is_on = event.label.lower() in {label.lower() for label in issue.labels}
        if isinstance(event, IssueLabelled):
            return "" if is_on else "the label is off"
        return "the label is on" if is_on else ""

    def _serving_of(self, task: Task) -> Serving:
        issue = task.issue
        own = self._labels.labels_of(issue.forge, issue.repository_id) if self._labels else {}
        return self._serving.with_labels(own) if own else self._serving

    def _forge_of(self, task: Task) -> Forge:
        forge = self._forges.get(task.issue.forge)
        if forge is None:
            raise ForgeUnavailable(f"the forge {task.issue.forge} is not configured any more")
        return forge

    def _on_budget(self, task: Task, command: CommandGiven, permission: Permission) -> str:
        if self._budget is None:
            return "nothing to do here"
        decision, is_raised = self._budget.answer(task, command, permission)
        if is_raised:
            self._moved.append(task.id)  # its status speaks of the caps
        return decision

    def _on_allow(self, task: Task, command: CommandGiven, permission: Permission) -> str:
        """Answer, and let a task go on that waited for nothing else."""
        decision, is_allowed = self._allowances.answer(task, command, permission)
        is_stopped = task.state is State.BLOCKED and task.reason in _WAITING_FOR_A_WORD
        if is_allowed and is_stopped and self._allowances.is_clear(task):
            try:
                self._queue.move(task, Trigger.RESUMED, Landing(asked=command))
            except StaleWrite:
                return self._on_allow(self._queue.task(task.id), command, permission)
            self._moved.append(task.id)
        return decision

    def _must_give_way(self, task: Task, signal: Signal, permission: Permission) -> bool:
        """Tell whether a waiting task that somebody asked for who may not is now asked for by one who may.

        Left alone, it would be withdrawn at its turn for the first one's sake, and the other's word lost.
        """
        event = signal.event
        if task.state is not State.QUEUED or not isinstance(event, IssueLabelled | CommandGiven):
            return False
        is_other = event.actor.id != task.requested_by.id
        if (
            not is_other
            or not asks_for_work(event, self._serving_of(task))
            or not may_trigger(permission, event.actor)
        ):
            return False
        forge = self._forges[task.issue.forge]
        earlier = forge.permission_of(task.issue.repository_id, task.requested_by)
        return not may_trigger(earlier, task.requested_by)

    def _permission(self, signal: Signal, task: Task) -> Permission:
        if isinstance(signal.event, Noted | Uninteresting):
            return Permission.NONE
        return self._forge_of(task).permission_of(task.issue.repository_id, signal.event.actor)
