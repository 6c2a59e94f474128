"""Gathers from the rows what an issue's status comment says, whatever state its task is in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from domain.budget import Caps, Standing, show_money
from domain.events import COMMAND_PREFIX
from domain.model import Attempt, Outcome, Publication, PublicationKind, Reason, Task
from domain.ports import Ledger, TaskQueue
from domain.states import State
from harness import report
from harness.markdown import code
from worker import announce
from worker.status_words import (
    PhaseLine,
    Round,
    StatusFacts,
    phase_lines,
    with_current,
)
from worker.turns import turn_of

_NOT_ACCEPTED = frozenset({Outcome.UNVERIFIED, Outcome.REFUSED})
_ALONE = f"I go on by myself. `{COMMAND_PREFIX} cancel` stops me."


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What only the worker knows of an attempt while it runs.

    `caps` are those in force with the repository's own wishes, `most_attempts` likewise. `said` is ready
    Markdown; `hypothesis` is outside text.
    """

    caps: Caps
    most_attempts: int
    current: PhaseLine | None = None
    said: str = ""
    hypothesis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDesk:
    """Reads; writes nothing. `pages` is where people reach the console, "" where nobody has said it."""

    queue: TaskQueue
    ledger: Ledger
    caps: Caps
    pages: str = ""

    def working(self, task: Task, attempt: Attempt, live: Live) -> StatusFacts:
        """Say what is being done now. Raises StoreUnavailable."""
        attempt = self.queue.attempt(attempt.id)
        standing = Standing(caps=live.caps, spent=self.ledger.standing(task, attempt))
        caps = standing.caps.raised(standing.spent.raised)
        now = Round(number=attempt.number, place=task.attempts + 1, most=live.most_attempts)
        return self._about(
            task,
            StatusFacts(
                headline=f"**Working on it** ({now.in_words}, at most "
                f"{show_money(caps.max_cost_per_task_usd)}).",
                detail=live.said,
                hypothesis=live.hypothesis or self._hypothesis(task, attempt),
                phases=with_current(self._phases(task, attempt), live.current),
                attempt=attempt,
                standing=standing,
                next_step="I go on by myself. To stop me, a maintainer takes the label "
                f"{code(task.label_shown, 100)} off or writes `{COMMAND_PREFIX} cancel`.",
            ),
        )

    def waiting(self, task: Task, now: datetime) -> StatusFacts:
        """Say of a QUEUED task what it waits for. Raises StoreUnavailable."""
        turn = turn_of(task, self.queue.tasks())
        attempt = self._attempt(task)
        if task.not_before is not None and task.not_before > now:
            headline = f"**Waiting until {task.not_before:%Y-%m-%d %H:%M} UTC.**"
        elif turn.place == 1:
            headline = "**Waiting for its turn:** next in the queue."
        else:
            headline = f"**Waiting for its turn:** {turn.in_words} in the queue."
        return self._resting(task, attempt, headline, self._why_it_waits(task, attempt), _ALONE)

    def blocked(self, task: Task) -> StatusFacts:
        """Say of a BLOCKED task which person it waits for; what happened has a comment of its own."""
        headline, next_step = announce.ENDINGS[task.reason or Reason.INTERNAL_ERROR]
        said = f"**Waiting for a person.** {headline} The last comment says more."
        return self._resting(task, self._attempt(task), said, "", next_step)

    def in_review(self, task: Task, draft: Publication) -> StatusFacts:
        """Say of a task that its draft is up; its detail says how the commit fares."""
        headline = f"**In review:** draft pull request [#{draft.pull_number}]({draft.url})."
        next_step = "a maintainer reviews it."
        if task.state is State.WATCHING:
            next_step = "I wait for continuous integration; then a maintainer reviews it."
        return self._resting(task, self._attempt(task), f"{headline} {task.detail}".rstrip(), "", next_step)

    def cancelled(self, task: Task) -> StatusFacts:
        """Say of a CANCELLED task why nothing goes on."""
        headline, next_step = announce.ENDINGS[task.reason or Reason.WITHDRAWN]
        return self._resting(task, None, f"**{headline}**", announce.plain(task.detail), next_step)

    def done(self, task: Task) -> StatusFacts:
        """Say of a task that its pull request was merged."""
        return self._resting(task, None, "**Merged.**", "", "nothing is left to do here.")

    def draft_of(self, task: Task) -> Publication | None:
        """Return the last pull request that was put up for a task."""
        ups = [
            each
            for each in self.queue.publications(task.id)
            if each.done_at is not None and each.kind is PublicationKind.PULL
        ]
        return ups[-1] if ups else None

    # -- pieces -------------------------------------------------------------------------------------

    def _resting(
        self, task: Task, attempt: Attempt | None, headline: str, detail: str, next_step: str
    ) -> StatusFacts:
        return self._about(
            task,
            StatusFacts(
                headline=headline,
                detail=detail,
                next_step=next_step,
                attempt=attempt,
                phases=self._phases(task, attempt) if attempt else (),
                standing=Standing(caps=self.caps, spent=self.ledger.standing(task, _open(attempt))),
            ),
        )

    def _about(self, task: Task, facts: StatusFacts) -> StatusFacts:
        return replace(
            facts, console=f"{self.pages.rstrip('/')}/console/tasks/{task.id}" if self.pages else ""
        )

    def _attempt(self, task: Task) -> Attempt | None:
        """Return the attempt of the claim that led here; there is none where a claim ended before one."""
        attempts = self.queue.attempts(task.id)
        return attempts[-1] if attempts and attempts[-1].generation == task.generation else None

    def _phases(self, task: Task, attempt: Attempt) -> tuple[PhaseLine, ...]:
        return phase_lines(p for number, p in self.queue.phases(task.id) if number == attempt.number)

    def _why_it_waits(self, task: Task, attempt: Attempt | None) -> str:
        """Say what the last attempt came to, where it was judged, or what keeps the task from going on."""
        parts = []
        verdict = self.queue.verdict(attempt) if attempt and task.attempts else None
        if attempt is not None and task.attempts and attempt.outcome in _NOT_ACCEPTED:
            parts.append(f"Attempt {attempt.number} was not accepted; I try again.")
            parts.append(report.verdict_detail(verdict) if verdict else announce.plain(task.detail))
        elif task.detail:
            parts.append(announce.plain(task.detail))
        if attempt is not None and attempt.outcome is None and attempt.steps:
            parts.append(f"Attempt {attempt.number} goes on from its last step.")
        return "\n\n".join(parts)

    def _hypothesis(self, task: Task, attempt: Attempt) -> str:
        """Return what the agent takes for the cause, as far as it has said so, in this attempt or before."""
        for each in reversed(self.queue.attempts(task.id)):
            if each.number > attempt.number:
                continue
            restatement, claim = self.queue.report(each)
            if claim is not None:
                return claim.root_cause
            if restatement is not None and restatement.suspected_area:
                return f"the fault is in {restatement.suspected_area}"
        return ""


def _open(attempt: Attempt | None) -> Attempt | None:
    return attempt if attempt is not None and attempt.outcome is None else None
