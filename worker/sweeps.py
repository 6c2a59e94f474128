"""Finds what no delivery told of: labels put on or taken off, commands, ends, places lost and found again."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from domain.errors import ForgeError, ForgeUnavailable, NotFound
from domain.model import Issue, IssueRef, Pull, Repository, Task
from domain.policy import Serving, admit, may_trigger
from domain.ports import Admission, Clock, Delivery, Forge, Inbox, LabelChange, TaskQueue
from domain.reconcile import (
    has_lost_label,
    is_text_vouched_for,
    missed_commands,
    missed_labels,
    missed_removal,
)
from domain.states import State
from worker import announce, synthetic
from worker.housekeeping import Steps
from worker.places import PlaceDesk

log = structlog.get_logger(__name__)

MOST_LOOKED_AT = 200
"""Issues without a task, and live tasks, looked at in one sweep; the others come in the next ones."""

MOST_REMEMBERED = 10_000
"""Issues of which it is known that nothing is to be done about them until they change."""

_EXPECTING_A_PULL = frozenset({State.IN_REVIEW, State.WATCHING})
_TAKEN = frozenset({Admission.QUEUED, Admission.SIGNAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much one sweep may start: `most_tasks`, from labels and commands within `reach`.

    `most_queued` is how many tasks of one repository may wait; None: any number.
    """

    most_tasks: int
    reach: timedelta
    most_queued: int | None = None


class Sweeper:
    """Compares the forges with the rows. What it finds goes through the inbox, as if it had been delivered.

    A forge that is unavailable, or asks us to wait, is left until the next sweep.
    """

    def __init__(
        self,
        queue: TaskQueue,
        inbox: Inbox,
        forges: Mapping[str, Forge],
        *,
        serving: Serving,
        clock: Clock,
        pace: Pace,
    ) -> None:
        self.places = PlaceDesk(queue, forges, serving)
        """Who parks and wakes tasks; in the service that of its signal desk, so that people are told."""
        self._listened: dict[int, datetime | None] = {}
        self._queue = queue
        self._inbox = inbox
        self._forges = forges
        self._serving = serving
        self._clock = clock
        self._pace = pace
        self._judged: dict[IssueRef, datetime | None] = {}
        self._looked_until = 0
        self._sweeps = 0

    def steps(self) -> Steps:
        """Sweep once: first what is to end, then what is to begin. Each step costs a few requests.

        Raises StoreUnavailable.
        """
        for forge_name, forge in self._forges.items():
            try:
                hidden = yield from self._hidden_places(forge_name)
                yield from self._endings(forge_name, forge, hidden)
                yield from self._beginnings(forge_name, forge)
            except ForgeUnavailable as error:
                log.warning("sweep waits for the forge", forge=forge_name, error=str(error))
        self._sweeps += 1

    # -- places -------------------------------------------------------------------------------------

    def _hidden_places(self, forge_name: str) -> Generator[float, None, set[str]]:
        """Bring the tasks of each repository in line with it; return the ids of those that cannot be read."""
        hidden = set()
        for repository_id, name in self._queue.places(forge_name):
            try:
                settled = self.places.settle(forge_name, repository_id)
            except ForgeUnavailable:
                raise
            except ForgeError as error:
                log.warning("repository not swept", repository=name, error=str(error))
                hidden.add(repository_id)
                continue
            if not settled.can_be_read:
                hidden.add(repository_id)
            yield 0.0
        return hidden

    # -- labels that nobody told us of --------------------------------------------------------------

    def _beginnings(self, forge_name: str, forge: Forge) -> Steps:
        """Queue missed issues, at most so many; the repositories take turns at being first."""
        names = sorted(name for name in self._serving.repositories if name.startswith(f"{forge_name}:"))
        turn = self._sweeps % len(names) if names else 0
        started = looked_at = 0
        for name in names[turn:] + names[:turn]:
            for repository, issue in self._unheard(forge, name.partition(":")[2]):
                looked_at += 1
                started += self._brought_in(forge, repository, issue)
                yield 0.0
                if started >= self._pace.most_tasks or looked_at >= MOST_LOOKED_AT:
                    log.info("sweep goes on next time", forge=forge_name, started=started)
                    return
            yield 0.0
        if started:
            log.info("sweep found missed labels", forge=forge_name, started=started)

    def _unheard(self, forge: Forge, name: str) -> Iterator[tuple[Repository, Issue]]:
        """Yield a repository's labelled issues, oldest first, but those that were judged as they are now."""
        since = self._clock.now() - self._pace.reach
        try:
            repository = forge.repository_named(name)
            if repository.archived:
                return
            labels = sorted(self._serving.at(repository.forge, repository.id).labels)
            for issue in forge.labelled_issues(repository.id, labels, changed_since=since):
                ref = _ref(repository, issue)
                if issue.changed_at is None or self._judged.get(ref) != issue.changed_at:
                    yield repository, issue
        except ForgeUnavailable:
            raise
        except ForgeError as error:
            log.warning("repository not swept", repository=name, error=str(error))

    def _brought_in(self, forge: Forge, repository: Repository, issue: Issue) -> bool:
        """Bring in the labels of an issue that were missed; tell whether work comes of it."""
        ref = _ref(repository, issue)
        serving = self._serving.at(repository.forge, repository.id)
        task = self._queue.task_of_issue(ref)
        if task is None and not self._has_room(ref):
            return False
        if task is None or task.state is State.CANCELLED:
            since = self._clock.now() - self._pace.reach
            ended_at = task.updated_at if task else None
            changes = forge.label_changes(ref)
            for placed in missed_labels(issue, changes, serving, since=since, ended_at=ended_at):
                if self._take(forge, repository, issue, placed) in _TAKEN:
                    return True
        if len(self._judged) >= MOST_REMEMBERED:
            self._judged.clear()
        self._judged[ref] = issue.changed_at
        return False

    def _has_room(self, issue: IssueRef) -> bool:
        """Tell whether one more task of the repository may wait: what has no room is looked at again."""
        most = self._pace.most_queued
        return most is None or self._queue.waiting(issue.forge, issue.repository_id) < most

    def _take(self, forge: Forge, repository: Repository, issue: Issue, placed: LabelChange) -> Admission:
        delivery = synthetic.labelled(repository, issue, placed, self._clock.now())
        serving = self._serving.at(repository.forge, repository.id)
        if admit(delivery.event, serving) is not Admission.QUEUED:
            return self._accept(delivery)
        if not may_trigger(forge.permission_of(repository.id, placed.actor), placed.actor):
            return self._accept(delivery, Admission.NOT_TRUSTED)
        if not is_text_vouched_for(issue, placed, forge.permission_of(repository.id, issue.author)):
            self._ask_again(forge, _ref(repository, issue), placed)
            return self._accept(delivery, Admission.NOT_TRUSTED)
        return self._accept(delivery)

    def _ask_again(self, forge: Forge, issue: IssueRef, placed: LabelChange) -> None:
        try:
            forge.add_comment(issue, f"missed-{placed.at:%Y%m%d%H%M%S}", announce.MISSED)
        except ForgeUnavailable:
            raise
        except ForgeError as error:
            log.warning("comment not written", issue=issue.number, error=str(error))

    # -- ends that nobody told us of ----------------------------------------------------------------

    def _endings(self, forge_name: str, forge: Forge, hidden: Container[str]) -> Steps:
        """Look at the live tasks, some in each sweep, in a circle; not where nothing can be seen."""
        tasks = self._queue.live_tasks(self._looked_until, MOST_LOOKED_AT)
        self._looked_until = tasks[-1].id if len(tasks) == MOST_LOOKED_AT else 0
        for task in tasks:
            if task.issue.forge != forge_name or task.issue.repository_id in hidden:
                continue
            try:
                missed = self._missed(forge, task)
            except ForgeUnavailable:
                raise
            except ForgeError as error:
                log.warning("task not swept", task=task.id, error=str(error))
                continue
            for delivery in missed:
                self._accept(delivery)
            yield 0.0

    def _missed(self, forge: Forge, task: Task) -> list[Delivery]:
        """Return what should have moved the task and did not. A pull request's end comes first."""
        now, asked_at = self._clock.now(), self._queue.asked_at(task.id)
        pull = forge.find_pull(task.issue.repository_id, task.wip_branch) if task.wip_branch else None
        is_over = pull is not None and not pull.is_open
        if pull and is_over and (pull.merged or task.state in _EXPECTING_A_PULL):
            return [synthetic.pull_closed(task.issue, pull, forge.identity, asked_at, now)]
        issue = self._issue(forge, task)
        if issue is None or not issue.is_open:
            return [synthetic.issue_closed(task.issue, forge.identity, asked_at, now)]
        word_at = task.word_at or asked_at
        serving = self._serving.at(task.issue.forge, task.issue.repository_id)
        changes = forge.label_changes(task.issue) if has_lost_label(task, issue, serving) else ()
        removed = missed_removal(task, issue, changes, serving, asked_at=word_at)
        if removed:
            return [synthetic.unlabelled(task.issue, removed, now)]
        return self._commands(forge, task, issue, pull)

    def _commands(self, forge: Forge, task: Task, issue: Issue, pull: Pull | None) -> list[Delivery]:
        """Return commands that were missed: on the issue, where it has changed, and on an open draft."""
        places = []
        if issue.changed_at is None or self._listened.get(task.id) != issue.changed_at:
            places.append(task.issue)
        if pull is not None and pull.is_open:
            places.append(replace(task.issue, number=pull.number))
        now = self._clock.now()
        since = max(task.word_at or self._queue.asked_at(task.id), now - self._pace.reach)
        heard = self._queue.heard_comments(task.id)
        found = [
            synthetic.commanded(place, comment, verb, now)
            for place in places
            for comment, verb in missed_commands(
                forge.comments(place), since=since, heard=heard, ourselves=forge.identity
            )
        ]
        if len(self._listened) >= MOST_REMEMBERED:
            self._listened.clear()
        self._listened[task.id] = issue.changed_at
        return found

    def _issue(self, forge: Forge, task: Task) -> Issue | None:
        """Return the issue, or None where it is gone while its repository can be seen."""
        try:
            return forge.issue(task.issue)
        except NotFound:
            forge.repository(task.issue.repository_id)
            return None

    def _accept(self, delivery: Delivery, wish: Admission | None = None) -> Admission:
        decide = partial(admit, serving=self._serving) if wish is None else lambda event: wish
        (admitted,) = self._inbox.accept([delivery], decide)
        if admitted.admission is not Admission.DUPLICATE:
            log.info(
                "delivery decided",
                delivery=delivery.delivery_id,
                decision=admitted.admission.value,
                task=admitted.task_id,
            )
        return admitted.admission


def _ref(repository: Repository, issue: Issue) -> IssueRef:
    return IssueRef(forge=repository.forge, repository_id=repository.id, number=issue.number)
