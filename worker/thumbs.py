"""Looks for thumbs up on what waits for an approval: forges send nothing when somebody reacts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from domain.approving import Waiting
from domain.errors import ForgeError, ForgeUnavailable
from domain.model import Actor, Reason, Task
from domain.policy import Serving, admit, may_trigger
from domain.ports import Capability, Clock, Forge, Inbox, ListingReactions, TaskQueue
from domain.states import State
from worker import synthetic
from worker.approving import ApprovalDesk
from worker.housekeeping import Steps

log = structlog.get_logger(__name__)

THUMB = "+1"

MOST_AT_ONCE = 20
"""Gates looked at in one round, each for a request or two; the others come in the next ones."""

MOST_ASKED = 20
"""People whose rights are looked up for one gate."""

_PAGE = 200
_MOST_REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class ThumbDesk:
    """Brings a maintainer's thumb through the inbox, as an approval of exactly the comment that it is on.

    What it finds counts once for each person and comment, and is decided with a fresh look at who it is.
    """

    queue: TaskQueue
    forges: Mapping[str, Forge]
    inbox: Inbox
    serving: Serving
    clock: Clock
    _comments: dict[str, str] = field(default_factory=dict)
    """Which comment shows what waits, by the word that would let it through."""
    _looked_until: int = 0

    def steps(self) -> Steps:
        """Look at some of the gates that are closed. A forge that is away is left until the next round."""
        away: set[str] = set()
        looked_at = 0
        for task in self._waiting():
            forge = self.forges.get(task.issue.forge)
            if (
                forge is None
                or task.issue.forge in away
                or Capability.REACTION_LISTS not in forge.capabilities
            ):
                continue
            try:
                self._look(task, forge)
            except ForgeUnavailable as error:
                away.add(task.issue.forge)
                log.warning("thumbs wait for the forge", task=task.id, error=str(error))
            except ForgeError as error:
                log.warning("thumbs not looked at", task=task.id, error=str(error))
            looked_at += 1
            if looked_at >= MOST_AT_ONCE:
                self._looked_until = task.id
                return
            yield 0.0
        self._looked_until = 0

    def _waiting(self) -> Iterator[Task]:
        """Yield the tasks that wait for an approval, from where the last round ended."""
        after = self._looked_until
        while page := self.queue.live_tasks(after, _PAGE):
            yield from (
                task
                for task in page
                if task.state is State.BLOCKED and task.reason is Reason.AWAITING_APPROVAL
            )
            after = page[-1].id

    def _look(self, task: Task, forge: Forge) -> None:
        waiting = ApprovalDesk(queue=self.queue, forges=self.forges).waiting(task)
        if waiting is None or not isinstance(forge, ListingReactions):
            return
        comment_id = self._comment(task, forge, waiting)
        if not comment_id:
            return
        thumbs = [each.actor for each in forge.reactions(task.issue, comment_id) if each.content == THUMB]
        for actor in thumbs[:MOST_ASKED]:
            if self._may(task, forge, actor):
                delivery = synthetic.approved(task.issue, waiting.name, comment_id, actor, self.clock.now())
                (admitted,) = self.inbox.accept([delivery], partial(admit, serving=self.serving))
                log.info("thumb found", task=task.id, by=actor.login, decision=admitted.admission)
                return

    def _may(self, task: Task, forge: Forge, actor: Actor) -> bool:
        ours = {forge.identity.id, self.serving.own_ids.get(task.issue.forge), ""}
        if actor.id in ours or actor.is_bot:
            return False
        return may_trigger(forge.permission_of(task.issue.repository_id, actor), actor)

    def _comment(self, task: Task, forge: Forge, waiting: Waiting) -> str:
        """Return the id of our newest comment that shows what waits: older ones were about other attempts."""
        known = self._comments.get(waiting.word)
        if known is not None:
            return known
        shown = [
            comment.id
            for comment in forge.comments(task.issue)
            if comment.author.id == forge.identity.id and waiting.name in comment.body
        ]
        if len(self._comments) >= _MOST_REMEMBERED:
            self._comments.clear()
        if shown:
            self._comments[waiting.word] = shown[-1]
        return shown[-1] if shown else ""
