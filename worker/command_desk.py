"""Answers the commands that move no task, and people whose command may not, or cannot, do anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.budget import Caps, Standing
from domain.errors import ForgeError
from domain.events import CommandGiven, Verb
from domain.model import IssueRef, Task
from domain.operators import is_without_comment
from domain.ports import Capability, Forge, Ledger, Reacting, TaskQueue
from domain.states import State
from worker import answers
from worker.answers import Situation
from worker.turns import turn_of

log = structlog.get_logger(__name__)

ANSWERED = frozenset({Verb.STATUS, Verb.EXPLAIN, Verb.HELP, Verb.PLAN, Verb.APPROVE, Verb.UNKNOWN})
"""Commands that are answered, and move nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDesk:
    """Answers on the issue or pull request where the command was written. Each answer may be repeated.

    Without ledger and caps, nothing is said of money.
    """

    queue: TaskQueue
    forges: Mapping[str, Forge]
    ledger: Ledger | None = None
    caps: Caps | None = None

    def answer(self, task: Task, command: CommandGiven) -> str:
        """Answer a maintainer's command; return the decision for the record. Raises ForgeError."""
        situation = self._situation(task)
        once = f"answer-{command.comment_id}"
        if command.verb is Verb.UNKNOWN:
            line = command.text.removeprefix("\ufeff").partition("\n")[0]
            self._say(command, f"unknown-{task.id}", answers.unknown_words(situation, self.caps, line))
        elif command.verb is Verb.HELP:
            self._say(command, once, answers.help_words(situation, self.caps))
        elif command.verb is Verb.EXPLAIN:
            self._say(command, once, answers.explain_words(situation))
        elif command.verb is Verb.STATUS:
            self._say(command, once, answers.status_words(situation))
        else:
            return self._on_gate(command, once)
        return f"{command.verb}: answered"

    def nothing_to_do(self, task: Task, command: CommandGiven) -> None:
        """Say that a command changes nothing as things stand, to whom it concerns. Raises ForgeError."""
        if is_without_comment(command.comment_id):
            return
        text = answers.nothing_to_do(command.verb, self._situation(task))
        self._say(command, f"answer-{command.comment_id}", text)

    def refuse(self, task: Task, command: CommandGiven) -> str:
        """Tell somebody without the right, once per person and task. Raises ForgeError."""
        self._say(command, f"not-permitted-{command.actor.id}-{task.id}", answers.NOT_PERMITTED)
        return "not permitted"

    def _on_gate(self, command: CommandGiven, once: str) -> str:
        """Answer `plan` where none waits; where one does, and to `approve`, the signal desk answers."""
        self._say(command, once, answers.NO_PLAN_WAITS)
        return f"{command.verb}: nothing waits"

    def _say(self, command: CommandGiven, key: str, text: str) -> None:
        self.forges[command.issue.forge].add_comment(command.issue, key, text)

    def _situation(self, task: Task) -> Situation:
        attempts = tuple(self.queue.attempts(task.id))
        done = [each for each in self.queue.publications(task.id) if each.done_at is not None]
        last = attempts[-1] if attempts else None
        standing = (
            Standing(caps=self.caps, spent=self.ledger.standing(task)) if self.ledger and self.caps else None
        )
        return Situation(
            task=task,
            attempts=attempts,
            verdict=self.queue.verdict(last) if last else None,
            claim=self.queue.report(last)[1] if last else None,
            publication=done[-1] if done else None,
            turn=turn_of(task, self.queue.tasks()) if task.state is State.QUEUED else None,
            standing=standing,
        )


def is_for_us(forge: Forge, command: CommandGiven) -> bool:
    """Tell whether a command calls us, by the prefix or by our name. Raises ForgeError."""
    own = forge.identity.login.removesuffix("[bot]") if command.addressed else ""
    return command.addressed.lower() == own.lower()


def show_seen(forge: Forge, command: CommandGiven) -> None:
    """Put a reaction on the command's comment."""
    react_to(forge, command.issue, command.comment_id)


def react_to(forge: Forge, issue: IssueRef, comment_id: str) -> None:
    """Put a reaction on a comment, where the forge has them; one that fails is no harm."""
    if Capability.REACTIONS not in forge.capabilities or not isinstance(forge, Reacting):
        return
    if is_without_comment(comment_id):
        return
    try:
        forge.react(issue, comment_id, "eyes")
    except ForgeError as error:
        log.warning("comment not marked as seen", comment=comment_id, error=str(error))
