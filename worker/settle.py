"""Settles a finished attempt: publishes what may be published, moves the task, tells people."""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from domain.errors import BranchMoved, ForgeError, ForgeUnavailable, GitError, GitUnavailable, PolicyRefusal
from domain.model import Attempt, Outcome, Publication, Reason, Task
from domain.policy import Settlement, settle
from domain.ports import Clock, Forge, Ledger, TaskQueue
from domain.states import State, Trigger
from domain.text import clip, inert
from harness import report
from harness.attempt import AttemptResult
from harness.publish import Publisher
from worker import announce
from worker.voice import Voice

log = structlog.get_logger(__name__)

LEFT_OPEN = frozenset({Outcome.INTERRUPTED, Outcome.ORPHANED, Outcome.TRANSIENT, Outcome.DAILY_LIMIT})
"""Outcomes after which the attempt is not over: the next claim goes on with it from its last step."""


@dataclass(slots=True, kw_only=True)
class Settler:
    """Settles the attempts of one task; made anew for each claim."""

    queue: TaskQueue
    ledger: Ledger
    forge: Forge
    voice: Voice
    clock: Clock
    max_attempts: int
    model: str
    publisher: Publisher | None = None

    def settle(self, task: Task, attempt: Attempt | None, result: AttemptResult) -> Task:
        """Publish, then close the attempt, then move the task: a crash in between is made good by repeating.

        Raises StaleWrite when somebody else moved the task.
        """
        try:
            if attempt is not None and result.outcome is Outcome.VERIFIED:
                return self._publish(task, attempt, result)
            return self._not_verified(task, attempt, result)
        except BranchMoved as error:
            return self._failed(task, attempt, result, Reason.BRANCH_MOVED, str(error))
        except (ForgeUnavailable, GitUnavailable) as error:
            log.warning("forge unavailable while settling", task=task.id, error=str(error))
            outage = replace(result, outcome=Outcome.TRANSIENT, detail=str(error), reason=None)
            return self._not_verified(task, attempt, outage)
        except (GitError, ForgeError) as error:
            detail = f"The work is done, but it could not be published: {error}"
            return self._failed(task, attempt, result, Reason.ENVIRONMENT, detail)

    def finish(self, task: Task, attempt: Attempt, publication: Publication) -> Task:
        """Go on after a complete publication: close the attempt, move the task, tell people."""
        self.queue.end_attempt(attempt, Outcome.VERIFIED)
        task = self.queue.move(task, Trigger.PUBLISHED)
        verdict = self.queue.verdict(attempt)
        if verdict is not None and publication.pull_number is not None:
            cost = self.ledger.spent_on_task(task.id)
            text = report.review_comment(publication.pull_number, publication.url, verdict, cost)
            self.voice.status(task, announce.in_review(publication.pull_number, publication.url, cost))
            self.voice.say(task, "review", text)
        return task

    def withdraw(self, task: Task, reason: Reason, detail: str) -> Task:
        """Cancel a task that must not run, and say why once."""
        task = self.queue.move(task, Trigger.CANCELLED, reason=reason, detail=detail)
        self._say_status(task, reason, inert(detail))
        return task

    def stood_down(self, task: Task) -> None:
        """Say so when a task was taken back while it ran; what it cost stays on record."""
        current = self.queue.task(task.id)
        log.info("task was moved by somebody else", task=current.id, state=current.state)
        if current.state is State.CANCELLED and current.reason is Reason.WITHDRAWN:
            self._say_status(current, Reason.WITHDRAWN, "")

    def _publish(self, task: Task, attempt: Attempt, result: AttemptResult) -> Task:
        publisher = self.publisher
        if not publisher or not result.verified or not result.start or not result.verdict:
            raise PolicyRefusal("a result that calls itself verified carries no verified change")
        if not self.forge.issue(task.issue).is_open:
            self.queue.end_attempt(attempt, Outcome.CANCELLED)
            task = self.queue.move(
                task, Trigger.CANCELLED, reason=Reason.WITHDRAWN, detail="the issue was closed meanwhile"
            )
            self.voice.status(task, "**The issue was closed while I worked on it; nothing was published.**")
            return task
        facts = report.PullFacts(
            task=task,
            verdict=result.verdict,
            claim=result.claim,
            suspects=result.suspects,
            cost=self.ledger.spent_on_task(task.id),
            steps=self.ledger.calls_on_attempt(attempt.id),
            model=self.model,
            attempt_number=attempt.number,
            left_out=result.left_out,
        )
        publication = publisher.open_pull(task, attempt, result.start, result.verified, facts)
        return self.finish(task, attempt, publication)

    def _not_verified(self, task: Task, attempt: Attempt | None, result: AttemptResult) -> Task:
        branch = ""
        if attempt is None or result.outcome in LEFT_OPEN:
            plan = self._plan(task, result)
        else:
            plan = self._plan(replace(task, attempts=task.attempts + 1), result)
            if plan.trigger is Trigger.BLOCKED:
                branch = self._keep(task, attempt, result)
            self.queue.end_attempt(attempt, result.outcome)
        task = self.queue.move(
            task,
            plan.trigger,
            reason=plan.reason,
            detail=clip(result.detail, 2000),
            not_before=plan.not_before,
            recoveries=plan.recoveries,
        )
        self._tell(task, result, plan, branch)
        return task

    def _failed(
        self, task: Task, attempt: Attempt | None, result: AttemptResult, reason: Reason, detail: str
    ) -> Task:
        """Block a task whose work could not be published; the work stays in the attempt's checkpoint."""
        if attempt is not None:
            self.queue.end_attempt(attempt, Outcome.DECLINED)
        task = self.queue.move(task, Trigger.BLOCKED, reason=reason, detail=clip(detail, 2000))
        told = replace(result, verdict=None, restatement=None, detail=detail)
        self._say_ending(task, reason, announce.what_was_seen(told))
        return task

    def _plan(self, task: Task, result: AttemptResult) -> Settlement:
        return settle(
            result.outcome,
            task,
            reason=result.reason,
            max_attempts=self.max_attempts,
            now=self.clock.now(),
        )

    def _keep(self, task: Task, attempt: Attempt, result: AttemptResult) -> str:
        """Push unfinished work, so that nothing is lost; return its branch, or "" when there is none."""
        if self.publisher is None or result.wip is None or result.start is None:
            return ""
        return self.publisher.push_wip(task, attempt, result.start, result.wip).branch

    def _tell(self, task: Task, result: AttemptResult, plan: Settlement, branch: str) -> None:
        if plan.trigger is Trigger.BLOCKED and plan.reason is not None:
            self._say_ending(task, plan.reason, announce.what_was_seen(result, branch))
        elif plan.trigger is Trigger.RETRIED:
            self.voice.status(task, announce.trying_again(task.attempts, result))
        elif plan.trigger is Trigger.RELEASED:
            self.voice.status(task, announce.waiting(result, self.clock.now()))

    def _say_ending(self, task: Task, reason: Reason, detail: str) -> None:
        cost = self.ledger.spent_on_task(task.id)
        self.voice.status(task, announce.stopped(reason, cost))
        self.voice.say(task, "ended", announce.ending(reason, detail, cost))

    def _say_status(self, task: Task, reason: Reason, detail: str) -> None:
        self.voice.status(task, announce.ending(reason, detail, self.ledger.spent_on_task(task.id)))
