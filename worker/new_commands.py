"""Commands on issues that have no task yet: `run` gives them one, the others are answered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from domain.errors import NotFound
from domain.events import CommandGiven, Verb
from domain.guests import GUEST, is_account
from domain.operators import OPERATOR, OPERATOR_PROVIDER
from domain.policy import may_trigger
from domain.ports import Admission, Clock, Delivery, Forge, Inbox, TaskQueue
from domain.states import State
from worker import answers
from worker.command_desk import is_for_us, show_seen
from worker.fresh_look import why_unworkable

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommandDesk:
    """Decides with a fresh look at who wrote it, before there is a row: strangers cannot fill the queue."""

    inbox: Inbox
    forges: Mapping[str, Forge]
    clock: Clock
    queue: TaskQueue | None = None
    """Where the tasks of issues are; without it, nobody without an account can begin one."""

    def answer(self, command: CommandGiven) -> str:
        """Decide one command; return the decision for the record. May be repeated. Raises ForgeError."""
        forge = self.forges.get(command.issue.forge)
        if forge is None:
            return "the forge is not configured any more"
        if not is_account(command.actor):
            return self._asked_by_name(forge, command)
        if not is_for_us(forge, command):
            return "nothing to do: it calls somebody else"
        if command.actor.is_bot or command.actor.id == forge.identity.id:
            return "nothing to do: written by a machine"
        try:
            is_pull = forge.issue(command.issue).is_pull
        except NotFound:
            return "the issue is gone"
        if is_pull:
            return "nothing to do: a pull request of somebody else's"
        if not may_trigger(forge.permission_of(command.issue.repository_id, command.actor), command.actor):
            forge.add_comment(command.issue, f"not-permitted-{command.actor.id}-0", answers.NOT_PERMITTED)
            return "not permitted"
        show_seen(forge, command)
        if command.verb is Verb.RUN and command.title is not None:
            return self._begin(command)
        key = "unknown-0" if command.verb is Verb.UNKNOWN else f"answer-{command.comment_id}"
        forge.add_comment(command.issue, key, answers.without_task(command.verb))
        return f"{command.verb}: answered"

    def _asked_by_name(self, forge: Forge, command: CommandGiven) -> str:
        """Begin the task of an issue that is known by its repository's name, for the operator or a guest."""
        try:
            repository = forge.repository_named(command.repository_name)
            where = replace(command.issue, repository_id=repository.id)
            issue = forge.issue(where)
        except NotFound as error:
            return f"not there: {error}"
        problem = why_unworkable(issue)
        if problem or self.queue is None:
            return f"not workable: {problem}"
        known = self.queue.task_of_issue(where)
        is_operator = command.actor.id == OPERATOR.id
        if known is not None and not (is_operator and known.state is State.CANCELLED):
            return f"run: {Admission.LIVE_TASK}"
        asked = replace(
            command,
            issue=where,
            repository_name=repository.full_name,
            title=issue.title,
            body=issue.body,
            labels=command.labels or issue.labels,
        )
        return self._begin(asked, OPERATOR_PROVIDER if is_operator else GUEST.id)

    def _begin(self, command: CommandGiven, provider: str = "") -> str:
        """Bring the command in once more, now that it is known who wrote it; a second time is a duplicate."""
        issue = command.issue
        name = f"command {issue.repository_id}#{issue.number} {command.comment_id}"
        delivery = Delivery(
            provider=provider or issue.forge,
            delivery_id=name,
            body_sha256=hashlib.sha256(name.encode("utf-8", "replace")).hexdigest(),
            body=b"{}",
            received_at=self.clock.now(),
            event=command,
        )
        (admitted,) = self.inbox.accept([delivery], lambda event: Admission.QUEUED)
        log.info("command decided", issue=issue.number, decision=admitted.admission, task=admitted.task_id)
        return f"run: {admitted.admission}"
