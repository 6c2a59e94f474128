"""Makes an issue say where its task stands, from the rows alone. May always be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.allowing import asked_about
from domain.budget import Caps
from domain.model import Attempt, Money, ProtectedChange, Publication, PublicationKind, Reason, Task
from domain.ports import Clock, Forge, Ledger, TaskQueue
from domain.ports.reviewing import ReviewLog
from domain.states import State
from domain.text import Redactor
from harness import report
from harness.presenting import vouch
from worker import announce
from worker.readiness import ENDED
from worker.review_answers import answer_reviews
from worker.status_desk import StatusDesk
from worker.status_words import StatusFacts, status_page
from worker.turns import turn_of
from worker.voice import Voice

log = structlog.get_logger(__name__)

JUDGED = frozenset(
    {
        *(Reason.GUARD, Reason.PROTECTED_PATH, Reason.ATTEMPTS_EXHAUSTED),
        *(Reason.REPEATED_DIFF, Reason.FLAKY_BASELINE, Reason.NO_CHANGE, Reason.NOT_REPRODUCIBLE),
    }
)
"""Reasons that rest on what the harness saw of a change, so that its verdict is shown."""

_ANSWERED = frozenset({Reason.NO_CHANGE, Reason.NOT_REPRODUCIBLE})
"""Reasons that are an answer with evidence: nothing has to be changed."""


_WITH_CHECK = frozenset({State.IN_REVIEW, State.WATCHING, State.BLOCKED, State.QUEUED})
"""While a draft is up, its commit's check says where its task stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """Speaks for tasks at rest. While a task is worked on, its settler speaks."""

    queue: TaskQueue
    ledger: Ledger
    forges: Mapping[str, Forge]
    redact: Redactor
    caps: Caps
    clock: Clock
    reviews: ReviewLog | None = None
    pages: str = ""
    """The address under which people reach the console, "" where nobody has said it."""

    def post(self, task: Task) -> bool:
        """Bring the issue's comments to what the rows say; False where that is worth another try later."""
        if task.state is State.BLOCKED and task.reason is Reason.OUT_OF_REACH:
            log.info("not said on the issue: its repository is out of reach", task=task.id, why=task.detail)
            return True
        voice = Voice(self.forges.get(task.issue.forge), self.redact)
        return self._of_state(task, voice) and self._of_reviews(task)

    def _of_reviews(self, task: Task) -> bool:
        """Answer reviewers about what came of their words."""
        if self.reviews is None:
            return True
        forge = self.forges.get(task.issue.forge)
        return forge is None or answer_reviews(task, forge, self.queue, self.reviews, self.redact)

    def _of_state(self, task: Task, voice: Voice) -> bool:
        if task.state is State.BLOCKED:
            return self._blocked(task, voice)
        if task.state in {State.IN_REVIEW, State.WATCHING}:
            return self._in_review(task, voice)
        if task.state is State.CANCELLED:
            return self._status(task, voice, self._desk.cancelled(task))
        if task.state is State.DONE:
            return self._status(task, voice, self._desk.done(task))
        if task.state is State.QUEUED and self._has_to_wait(task):
            return self._status(task, voice, self._desk.waiting(task, self.clock.now()))
        return True

    @property
    def _desk(self) -> StatusDesk:
        return StatusDesk(queue=self.queue, ledger=self.ledger, caps=self.caps, pages=self.pages)

    def _has_to_wait(self, task: Task) -> bool:
        """Tell whether there is anything to say of a waiting task: one that begins now says so itself."""
        is_later = task.not_before is not None and task.not_before > self.clock.now()
        return (
            is_later or bool(task.detail) or task.attempts > 0 or turn_of(task, self.queue.tasks()).place > 1
        )

    def _status(self, task: Task, voice: Voice, facts: StatusFacts) -> bool:
        """Write the status comment, and the same on the check of the draft's commit."""
        text = status_page(facts)
        is_said = voice.status(task, text)
        draft, forge = self._desk.draft_of(task), self.forges.get(task.issue.forge)
        if is_said and draft is not None and forge is not None and task.state in _WITH_CHECK:
            vouch(forge, task, draft, status=self.redact(text))
        return is_said

    def _blocked(self, task: Task, voice: Voice) -> bool:
        reason = task.reason or Reason.INTERNAL_ERROR
        cost = self._cost(task)
        status = self._status(task, voice, self._desk.blocked(task))
        if reason is Reason.AWAITING_APPROVAL:
            return status  # what waits was shown before the task came to wait
        protected = self._asks_about(task, reason)
        if protected is not None:
            return voice.say(task, ENDED, announce.asking(protected, cost)) and status
        seen = self._seen(task, reason)
        is_final = reason is Reason.GUARD and not self._may_be_allowed(task)
        said = announce.refused_for_good(seen, cost) if is_final else announce.ending(reason, seen, cost)
        return voice.say(task, ENDED, said) and status

    def _may_be_allowed(self, task: Task) -> bool:
        """Tell whether maintainers' words could let the last change through."""
        attempt = self._last_attempt(task)
        verdict = self.queue.verdict(attempt) if attempt else None
        return bool(verdict and asked_about(verdict))

    def _asks_about(self, task: Task, reason: Reason) -> ProtectedChange | None:
        attempt = self._last_attempt(task)
        verdict = self.queue.verdict(attempt) if attempt and reason is Reason.PROTECTED_PATH else None
        return verdict.protected if verdict else None

    def _in_review(self, task: Task, voice: Voice) -> bool:
        attempt, pull = self._last_attempt(task), self._last_publication(task)
        verdict = self.queue.verdict(attempt) if attempt else None
        if pull is None or pull.pull_number is None or verdict is None:
            return True
        cost = self._cost(task)
        status = self._status(task, voice, self._desk.in_review(task, pull))
        text = report.review_comment(pull.pull_number, pull.url, verdict, cost)
        return voice.say(task, "review", text) and status

    def _seen(self, task: Task, reason: Reason) -> str:
        """Return what the last attempt came to, as far as the reason rests on it."""
        attempt = self._last_attempt(task)
        left = self._last_publication(task)
        restatement = self.queue.report(attempt)[0] if attempt else None
        verdict = self.queue.verdict(attempt) if attempt and reason in JUDGED else None
        if restatement is not None and reason is Reason.NEEDS_INFORMATION:
            said = report.restated_detail(restatement)
        elif verdict is not None and reason in _ANSWERED:
            said = announce.nothing_to_change(verdict, self.queue.report(attempt)[1] if attempt else None)
        elif verdict is not None:
            said = report.verdict_detail(verdict)
        else:
            said = announce.plain(task.detail)
        is_unfinished = left is not None and left.kind is PublicationKind.WIP
        return announce.with_branch(said, left.branch if left and is_unfinished else "")

    def _last_attempt(self, task: Task) -> Attempt | None:
        """Return the attempt of the claim that led here; there is none where a claim ended before one."""
        attempts = self.queue.attempts(task.id)
        return attempts[-1] if attempts and attempts[-1].generation == task.generation else None

    def _last_publication(self, task: Task) -> Publication | None:
        done = [each for each in self.queue.publications(task.id) if each.done_at is not None]
        return done[-1] if done else None

    def _cost(self, task: Task) -> Money:
        return self.ledger.spent_on_task(task.id)
