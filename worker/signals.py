"""Signals: events about known tasks, decided with a fresh look at who sent them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import structlog

from domain.errors import ForgeError, ForgeUnavailable, NotFound, StaleWrite
from domain.events import (
    CommandGiven,
    Event,
    Given,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Uninteresting,
    Verb,
)
from domain.guests import own_permission
from domain.model import Permission, Reason, Task
from domain.noted import CheckAsked, IssueChanged, IssueCommented, Noted
from domain.operators import OPERATOR
from domain.policy import (
    PARKED,
    Serving,
    asks_for_work,
    is_overtaken,
    may_trigger,
    trigger_of,
    word_of,
)
from domain.ports import Clock, Forge, Landing, Signal, TaskQueue
from domain.reviewing import ReviewEvent
from domain.snapshot import snapshot_hash
from domain.states import State, Trigger, is_legal
from worker.allowing import AllowanceDesk
from worker.approving import ApprovalDesk
from worker.command_desk import ANSWERED, CommandDesk, is_for_us, show_seen
from worker.edits import tell_during_the_work
from worker.errands import ErrandDesk
from worker.places import PlaceDesk
from worker.politeness import make_use_of_room
from worker.raising import BudgetDesk
from worker.review_desk import ReviewDesk
from worker.word_desk import WordDesk

log = structlog.get_logger(__name__)

LATE = timedelta(minutes=10)
"""A command that is older has its comment looked up again: it may be gone, or say something else."""

_WAITING_FOR_A_WORD = frozenset({Reason.PROTECTED_PATH, Reason.GUARD})
"""Where a task stands still for what a maintainer may allow."""


_AFTER_A_DRAFT = frozenset({State.IN_REVIEW, State.WATCHING, State.BLOCKED})


class SignalDesk:
    """Decides signals one by one, in the order in which they came; for any number of threads."""

    def __init__(
        self,
        queue: TaskQueue,
        forges: Mapping[str, Forge],
        serving: Serving,
        budget: BudgetDesk | None = None,
        *,
        errands: ErrandDesk | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Without a budget desk, a word about the budget is recorded and nothing else.

        Without a clock, no command is old enough to be looked up once more.
        """
        self._errands = errands or ErrandDesk(queue, forges, serving)
        self._clock = clock
        self.reviews: ReviewDesk | None = None
        """Who hears reviewers; without it, what they say is recorded and nothing else."""
        self._queue = queue
        self._budget = budget
        self._allowances = AllowanceDesk(queue=queue, forges=forges)
        self._approvals = ApprovalDesk(queue=queue, forges=forges)
        self.words = WordDesk(queue=queue, forges=forges)
        self._commands = CommandDesk(
            queue=queue,
            forges=forges,
            ledger=budget.ledger if budget else None,
            caps=budget.caps if budget else None,
        )
        self._forges = forges
        self._serving = serving
        self._lock = threading.Lock()
        self._moved: list[int] = []

    @property
    def places(self) -> PlaceDesk:
        """Who parks and wakes the tasks of a repository."""
        return self._errands.places

    def clear(self) -> None:
        """Decide all waiting signals; one whose sender cannot be looked up now waits for the next time.

        Raises StoreUnavailable.
        """
        with self._lock:
            for signal in self._queue.signals():
                self._settle(signal)
            self._errands.clear()

    def take_up_reviews(self) -> None:
        """Let tasks at rest go on for reviews that were heard while they were worked on.

        Raises StoreUnavailable.
        """
        if self.reviews is not None:
            with self._lock:
                self.reviews.take_up()

    def has_moved(self, task_id: int) -> None:
        """Have people told of a task that somebody else of this process has moved."""
        with self._lock:
            self._moved.append(task_id)

    def take_moved(self) -> list[int]:
        """Return the ids of tasks that signals have moved since the last call: people are to be told."""
        with self._lock:
            moved, self._moved = self._moved + self.places.take_moved(), []
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
        if isinstance(signal.event, ReviewEvent):
            return self.reviews.hear(task, signal.event) if self.reviews else "nothing to do here"
        if isinstance(signal.event, IssueCommented):
            return self._on_words(task, signal.event)
        outdated = self._why_overtaken(signal, task)
        if outdated:
            return f"outdated: {outdated}"
        if isinstance(signal.event, CommandGiven) and "\n" in signal.event.text.strip():
            self.words.note(task)
        if isinstance(signal.event, IssueChanged) and signal.event.action == "edited":
            return tell_during_the_work(task, self._forge_of(task))
        if isinstance(signal.event, CheckAsked):
            return self._on_check(task, signal.event)
        permission = self._permission(signal, task)
        if isinstance(signal.event, CommandGiven):
            decision = self._on_command(signal.event, task, permission)
            if decision:
                return decision
        if self._must_give_way(task, signal, permission):
            self._queue.move(task, Trigger.CANCELLED, Landing(reason=Reason.NOT_PERMITTED))
            return self._decide(signal)
        trigger = trigger_of(signal.event, task, permission, self._serving_of(task))
        if trigger is None:
            self._heed(task, signal.event, permission)
            if isinstance(signal.event, CommandGiven):
                self._commands.nothing_to_do(task, signal.event)
            return "nothing to do, or not permitted"
        outdated = self._why_outdated(signal.event, task)
        if outdated:
            return f"outdated: {outdated}"
        if not is_legal(task.state, trigger):
            return f"no-op: a task that is {task.state} cannot be {trigger}"
        asked = signal.event if isinstance(signal.event, IssueLabelled | CommandGiven) else None
        asked = None if signal.by_operator else asked  # who asked for the work stays
        try:
            self._queue.move(task, trigger, self._landing(task, trigger, signal.event, asked))
        except StaleWrite:
            return self._decide(signal)
        self._moved.append(task.id)
        if task.state in _AFTER_A_DRAFT and trigger in {Trigger.MERGED, Trigger.CANCELLED}:
            make_use_of_room(task, self._queue)
        return str(trigger)

    def _heed(self, task: Task, event: Event, permission: Permission) -> None:
        """Remember a wish for work that is under way already: an older cancel that comes after it is over."""
        if not isinstance(event, IssueLabelled | CommandGiven) or event.at is None:
            return
        if asks_for_work(event, self._serving_of(task)) and may_trigger(permission, event.actor):
            self._queue.heed(task.id, event.at)

    def _landing(
        self, task: Task, trigger: Trigger, event: Event, asked: IssueLabelled | CommandGiven | None
    ) -> Landing:
        """Say what a move brings; work that only waited goes on, unless it was asked for on another text."""
        reason = Reason.WITHDRAWN if trigger is Trigger.CANCELLED else None
        is_new = isinstance(event, CommandGiven) and event.verb is Verb.RETRY
        if asked is not None and asked.title is not None and asked.body is not None:
            is_new |= snapshot_hash(asked.title, asked.body) != snapshot_hash(task.title, task.body)
        goes_on = trigger is Trigger.RESUMED and task.reason in PARKED and not is_new
        return Landing(reason=reason, asked=asked, goes_on=goes_on, word_at=word_of(event))

    def _why_overtaken(self, signal: Signal, task: Task) -> str:
        """Return what shows that a wish was followed by a newer one, or came twice, or was taken back."""
        event = signal.event
        if is_overtaken(event, task):
            return "a newer word has been followed"
        if not isinstance(event, CommandGiven):
            return ""
        if event.comment_id in self._queue.heard_comments(task.id, signal.id):
            return "this comment was heard before"
        if event.given_by is not Given.COMMENT:
            return ""  # there is no comment that could have been taken back
        is_late = self._clock is not None and event.at is not None and self._clock.now() - event.at > LATE
        return self._why_taken_back(event, task) if is_late else ""

    def _why_taken_back(self, event: CommandGiven, task: Task) -> str:
        """Return that a command's comment does not say it any more, or ""."""
        comments = self._forge_of(task).comments(event.issue)
        now = next((comment.body for comment in comments if comment.id == event.comment_id), None)
        if now is None:
            return "the comment is gone"
        return "" if _same_text(now, event.text) else "the comment was edited"

    def _on_words(self, task: Task, event: IssueCommented) -> str:
        decision = self.words.hear(task, event)
        if decision == Trigger.RESUMED:
            self._moved.append(task.id)
        return decision

    def _on_check(self, task: Task, event: CheckAsked) -> str:
        """Take the wish to run our check on the draft again for the wish for another attempt."""
        permission = self._forge_of(task).permission_of(task.issue.repository_id, event.actor)
        if not may_trigger(permission, event.actor):
            return "not permitted"
        if event.sha != task.wip_sha:
            return "outdated: the branch has another commit"
        if task.state not in _AFTER_A_DRAFT:
            return f"no-op: the task is {task.state}"
        try:
            self._queue.move(task, Trigger.RESUMED)
        except StaleWrite:
            return self._on_check(self._queue.task(task.id), event)
        self._moved.append(task.id)
        return str(Trigger.RESUMED)

    def _on_command(self, command: CommandGiven, task: Task, permission: Permission) -> str:
        """Return the decision about a command that is answered and moves nothing, "" for all others."""
        forge = self._forge_of(task)
        if not is_for_us(forge, command):
            return "nothing to do: it calls somebody else"
        if command.verb is Verb.BUDGET:
            return self._on_budget(task, command, permission)
        if command.verb is Verb.ALLOW:
            return self._on_allow(task, command, permission)
        if not may_trigger(permission, command.actor):
            is_machine = command.actor.is_bot or command.actor.id == forge.identity.id
            is_machine |= command.actor.id == self._serving.own_ids.get(task.issue.forge)
            return "nothing to do, or not permitted" if is_machine else self._commands.refuse(task, command)
        if command.given_by is Given.COMMENT:
            show_seen(forge, command)
        if command.verb is Verb.APPROVE:
            return self._on_approve(task, command)
        if command.verb is Verb.PLAN and self._approvals.waits_with_plan(task):
            return self._on_another_plan(task, command)
        return self._commands.answer(task, command) if command.verb in ANSWERED else ""

    def _why_outdated(self, event: Event, task: Task) -> str:
        """Return what shows that an event came late or out of order, or "": what stands now decides."""
        if isinstance(event, PullClosed) and not event.merged:
            pull = self._forge_of(task).find_pull(task.issue.repository_id, event.head_branch)
            is_open = pull is not None and pull.is_open and pull.number == event.issue.number
            return "the pull request is open" if is_open else ""
        if not isinstance(event, IssueLabelled | IssueUnlabelled | IssueClosed | IssueChanged):
            return ""
        try:
            issue = self._forge_of(task).issue(task.issue)
        except NotFound:
            return ""
        if isinstance(event, IssueClosed):
            return "the issue is open" if issue.is_open else ""
        if isinstance(event, IssueChanged):
            return "" if issue.locked else "the issue is not locked"
        is_on = event.label.lower() in {label.lower() for label in issue.labels}
        if isinstance(event, IssueLabelled):
            return "" if is_on else "the label is off"
        return "the label is on" if is_on else ""

    def _serving_of(self, task: Task) -> Serving:
        return self._serving.at(task.issue.forge, task.issue.repository_id)

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

    def _on_approve(self, task: Task, command: CommandGiven) -> str:
        """Answer, and let exactly what was approved go on: the attempt stays open, and its text the same."""
        decision, is_approved = self._approvals.answer(task, command)
        if is_approved:
            asked = None if command.actor == OPERATOR else replace(command, title=None, body=None)
            landing = Landing(asked=asked, goes_on=True, word_at=word_of(command))
            try:
                self._queue.move(task, Trigger.RESUMED, landing)
            except StaleWrite:
                return self._on_approve(self._queue.task(task.id), command)
            self._moved.append(task.id)
        return decision

    def _on_another_plan(self, task: Task, command: CommandGiven) -> str:
        """Have a plan made anew, with what has been said since; the text of the issue stays the same."""
        asked = replace(command, title=None, body=None)
        try:
            self._queue.move(task, Trigger.RESUMED, Landing(asked=asked, word_at=word_of(command)))
        except StaleWrite:
            return "plan: moved by somebody else meanwhile"
        self._moved.append(task.id)
        return "plan: made anew"

    def _must_give_way(self, task: Task, signal: Signal, permission: Permission) -> bool:
        """Tell whether a waiting task that somebody asked for who may not is now asked for by one who may.

        Left alone, it would be withdrawn at its turn for the first one's sake, and the other's word lost.
        """
        event = signal.event
        if task.state is not State.QUEUED or not isinstance(event, IssueLabelled | CommandGiven):
            return False
        if signal.by_operator:
            return False
        is_other = event.actor.id != task.requested_by.id
        if (
            not is_other
            or not asks_for_work(event, self._serving_of(task))
            or not may_trigger(permission, event.actor)
        ):
            return False
        forge = self._forges[task.issue.forge]
        earlier = own_permission(task.requested_by) or forge.permission_of(
            task.issue.repository_id, task.requested_by
        )
        return not may_trigger(earlier, task.requested_by)

    def _permission(self, signal: Signal, task: Task) -> Permission:
        if isinstance(signal.event, Noted | Uninteresting):
            return Permission.NONE
        if signal.by_operator:
            return Permission.ADMIN
        if signal.event.actor.id == self._serving.own_ids.get(task.issue.forge):
            return Permission.NONE  # ours, where the service acts under a plain user's account
        return self._forge_of(task).permission_of(task.issue.repository_id, signal.event.actor)


def _same_text(one: str, other: str) -> bool:
    """Tell whether two texts say the same, whatever ends their lines."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
