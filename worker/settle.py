"""Settles a finished attempt: publishes what may be published, closes the attempt and moves the task.

Publishing comes first and can be repeated; then one transaction does the rest. A crash between the two is
made good by doing it again. What is said on the issue of a task at rest follows from the rows: see notices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from domain.approving import plan_waiting
from domain.budget import ZERO, Caps, Standing
from domain.claim import Restatement
from domain.errors import (
    BranchMoved,
    ConfigurationError,
    ForgeError,
    ForgeUnavailable,
    GitError,
    GitUnavailable,
    PolicyRefusal,
)
from domain.model import Attempt, Outcome, Phase, Publication, Reason, Task
from domain.policy import MAX_RECOVERIES, Retries, Settlement, settle
from domain.ports import Capability, Clock, Forge, Landing, Ledger, TaskQueue
from domain.ports.reviewing import ReviewLog
from domain.states import Trigger
from domain.text import Redactor, clip
from harness import pull_text
from harness.attempt import AttemptResult
from harness.checkpoints import ref_of
from harness.house import House
from harness.publish import Publisher
from harness.room import full_or_raise
from worker import announce, approval_words, ci_words
from worker.fresh_look import FreshLook, Hindrance
from worker.gate import PublishGate
from worker.plan_words import PlanCost, plan_words
from worker.readiness import is_edited
from worker.receipts import ReceiptClerk
from worker.redacting import redacted
from worker.review_reading import note_touches
from worker.status_words import PUBLISH
from worker.typical import typical_cost
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
    redact: Redactor
    caps: Caps
    model: str
    receipts: ReceiptClerk
    look: FreshLook
    reviews: ReviewLog
    max_task_retries: int = MAX_RECOVERIES
    publisher: Publisher | None = None
    is_watched: Callable[[], bool] = lambda: False
    began: Callable[[str], None] = lambda phase: None
    """Hears of the phase that begins here, for the status comment."""
    was_private: bool = True
    """How the repository was when the work began."""

    def settle(self, task: Task, attempt: Attempt | None, result: AttemptResult) -> Task:
        """Publish, then close the attempt and move the task.

        Raises StaleWrite when somebody else moved the task, StoreUnavailable.
        """
        try:
            if attempt is not None and result.outcome is Outcome.VERIFIED:
                return self._publish(task, attempt, result)
            if attempt and result.restatement and result.reason is Reason.AWAITING_APPROVAL:
                return self._wait_with_plan(task, attempt, result.restatement, result)
            return self._not_verified(task, attempt, result)
        except BranchMoved as error:
            return self._failed(task, attempt, Reason.BRANCH_MOVED, str(error))
        except (ForgeUnavailable, GitUnavailable) as error:
            return self._outage(task, attempt, result, error)
        except OSError as error:
            return self._outage(task, attempt, result, full_or_raise(error))
        except (GitError, ForgeError) as error:
            return self._refused(task, attempt, result, error)
        except ConfigurationError as error:
            return self._failed(task, attempt, Reason.INTERNAL_ERROR, f"No receipt could be written: {error}")

    def _refused(
        self, task: Task, attempt: Attempt | None, result: AttemptResult, error: GitError | ForgeError
    ) -> Task:
        """Park a task whose place was taken away in the middle of publishing; block any other."""
        found: object = None
        try:
            found = self.look.place(task)
        except ForgeUnavailable as away:
            return self._outage(task, attempt, result, away)
        except ForgeError as again:
            log.warning("place cannot be looked at", task=task.id, error=str(again))
        if isinstance(found, Hindrance):
            return self.stop(task, found)
        is_done = result.outcome is Outcome.VERIFIED
        reason = Reason.UNPUBLISHED if is_done else Reason.ENVIRONMENT
        return self._failed(task, attempt, reason, f"The forge or git says: {error}")

    def _outage(self, task: Task, attempt: Attempt | None, result: AttemptResult, error: Exception) -> Task:
        """Try again later what could not be published, or kept, now."""
        log.warning("forge, git or disk unavailable while settling", task=task.id, error=str(error))
        asked = error.retry_after if isinstance(error, ForgeUnavailable) else None
        outage = replace(result, outcome=Outcome.TRANSIENT, detail=str(error), reason=None, retry_after=asked)
        return self._not_verified(task, attempt, outage)

    def finish(self, task: Task, attempt: Attempt) -> Task:
        """Go on after a complete publication: to its reviewers, or to a watch over its commit first."""
        if self.publisher is not None:
            note_touches(self.reviews, self.queue, self.publisher.mirror, attempt)
        if self.is_watched():
            head = self.queue.task(task.id).wip_sha
            landing = Landing(ending=(attempt, Outcome.VERIFIED), detail=ci_words.watching(head))
            return self.queue.move(task, Trigger.WATCHED, landing)
        return self.queue.move(task, Trigger.PUBLISHED, Landing(ending=(attempt, Outcome.VERIFIED)))

    def stop(self, task: Task, hindrance: Hindrance) -> Task:
        """Cancel or park a task that must not go on. A cancelled one's open attempt is over, too.

        A parked one's stays open, with all that was worked out.
        """
        landing = Landing(reason=hindrance.reason, detail=self._for_record(hindrance.detail))
        return self.queue.move(task, hindrance.trigger, landing)

    def _publish(self, task: Task, attempt: Attempt, result: AttemptResult) -> Task:
        publisher = self.publisher
        if not publisher or not result.verified or not result.start or not result.verdict:
            raise PolicyRefusal("a result that calls itself verified carries no verified change")
        receipt = self.receipts.write(task, attempt, result)
        hindrance = self.look.before_publishing(task, self.was_private)
        if hindrance is not None:
            detail = f"{hindrance.detail} Nothing was published."
            return self.stop(task, replace(hindrance, detail=detail))
        facts = pull_text.PullFacts(
            task=task,
            verdict=result.verdict,
            claim=result.claim,
            suspects=result.suspects,
            cost=self.ledger.spent_on_task(task.id),
            steps=sum(self.ledger.calls_on_attempt(each.id) for each in self.queue.attempts(task.id)),
            model=self.model,
            attempt_number=attempt.number,
            standing=Standing(caps=self.caps, spent=self.ledger.standing(task)),
            left_out=result.left_out,
            receipt=receipt.sha256,
            receipt_url=self.receipts.url_of(receipt),
            allowed=result.allowed,
            prepared=result.prepared,
            template=result.house.template,
            edited=is_edited(task, self.forge.issue(task.issue)),
        )
        ready = publisher.propose(task, attempt, result.start, result.verified, facts, result.house)
        if result.house.asks_before_publishing and ready.done_at is None:
            gate = PublishGate(queue=self.queue, mirror=publisher.mirror)
            if not gate.is_open(task, ready.tree):
                return self.hold(task, attempt, ready, result.verdict.base_sha)
            if ready.tree not in gate.approved(task):
                said = approval_words.verified_again(result.verdict.base_sha)
                self.voice.once(task, f"again-{ready.tree[:12]}", said)
        self.carry_out(task, attempt, ready, result.house)
        return self.finish(task, attempt)

    def carry_out(self, task: Task, attempt: Attempt, ready: Publication, house: House) -> Publication:
        """Put a publication on the forge, and write down how long that took. May be repeated.

        Raises what `Publisher.finish` does, StaleWrite.
        """
        if self.publisher is None:
            raise PolicyRefusal("nothing can be published without a mirror")
        self.began(PUBLISH)
        started_at, began = self.clock.now(), self.clock.monotonic()
        done = self.publisher.finish(task, ready, house)
        seconds = self.clock.monotonic() - began
        phase = Phase(name=PUBLISH, started_at=started_at, seconds=seconds, cost=ZERO)
        self.queue.add_phase(attempt, phase)
        return done

    def hold(self, task: Task, attempt: Attempt, ready: Publication, base_sha: str) -> Task:
        """Show what is ready, and let the task wait with its attempt open: approved, exactly this is pushed.

        May be repeated. Raises GitError, OSError, ForgeError, StaleWrite.
        """
        publisher = self.publisher
        if publisher is None:
            raise PolicyRefusal("nothing can be held back without a mirror")
        gate = PublishGate(queue=self.queue, mirror=publisher.mirror)
        publisher.mirror.set_ref(ref_of(attempt.id), ready.commit_sha)
        proposal = gate.proposal(
            ready,
            base_sha=base_sha,
            base=ready.base_branch or self.forge.repository(task.issue.repository_id).default_branch,
            redact=self.redact,
            keep=self.receipts.transcript(attempt).with_suffix(".diff"),
        )
        said = approval_words.proposal_words(
            proposal, anew=bool(gate.approved(task)), thumbs=self._sees_thumbs
        )
        if not self.voice.once(task, f"proposal-{ready.tree[:12]}-{attempt.id}", said):
            raise ForgeUnavailable("what is ready cannot be shown now")
        landing = Landing(reason=Reason.AWAITING_APPROVAL, detail=f"tree {ready.tree}")
        return self.queue.move(task, Trigger.BLOCKED, landing)

    @property
    def _sees_thumbs(self) -> bool:
        return Capability.REACTION_LISTS in self.forge.capabilities

    def _wait_with_plan(
        self, task: Task, attempt: Attempt, restatement: Restatement, result: AttemptResult
    ) -> Task:
        """Show the plan, and let the task wait with its attempt open: approved, the work goes on from it."""
        restatement = redacted(restatement, self.redact)  # as it is kept
        standing = Standing(caps=self.caps, spent=self.ledger.standing(task))
        cost = PlanCost(standing=standing, typical=typical_cost(task, self.queue, self.ledger))
        waiting = plan_waiting(task, attempt, restatement)
        said = plan_words(waiting, restatement, result.suspects, task, cost, thumbs=self._sees_thumbs)
        if not self.voice.once(task, f"plan-{waiting.name[:12]}-{attempt.id}", said):
            raise ForgeUnavailable("the plan cannot be shown now")
        landing = Landing(reason=Reason.AWAITING_APPROVAL, detail=f"plan {waiting.name}")
        return self.queue.move(task, Trigger.BLOCKED, landing)

    def _not_verified(self, task: Task, attempt: Attempt | None, result: AttemptResult) -> Task:
        ends = attempt if result.outcome not in LEFT_OPEN else None
        plan = self._plan(replace(task, attempts=task.attempts + 1) if ends else task, result)
        may_push = result.wip is not None and not result.house.asks_before_publishing
        keeps = ends is not None and plan.trigger is Trigger.BLOCKED and may_push
        hindrance = self.look.before_publishing(task, self.was_private) if keeps else None
        if hindrance is not None:
            return self.stop(task, hindrance)  # parked with its attempt open, it comes here again
        if ends is not None:
            self.receipts.write(task, ends, result)
        if ends is not None and keeps:
            self._keep(task, ends, result)
        return self.queue.move(
            task,
            plan.trigger,
            Landing(
                reason=plan.reason,
                detail=self._for_record(self._why(plan, result)),
                not_before=plan.not_before,
                recoveries=plan.recoveries,
                ending=(ends, result.outcome) if ends else None,
            ),
        )

    def _failed(self, task: Task, attempt: Attempt | None, reason: Reason, detail: str) -> Task:
        """Block a task whose work could not be published; the work stays in the attempt's checkpoint."""
        return self.queue.move(
            task,
            Trigger.BLOCKED,
            Landing(
                reason=reason,
                detail=self._for_record(detail),
                ending=(attempt, Outcome.DECLINED) if attempt else None,
            ),
        )

    def _plan(self, task: Task, result: AttemptResult) -> Settlement:
        most = min(self.caps.max_attempts, result.most_attempts or self.caps.max_attempts)
        return settle(
            result.outcome,
            task,
            reason=result.reason,
            retries=Retries(attempts=most, recoveries=self.max_task_retries),
            now=self.clock.now(),
            retry_after=result.retry_after,
        )

    def _keep(self, task: Task, attempt: Attempt, result: AttemptResult) -> None:
        """Push unfinished work, so that nothing is lost."""
        if self.publisher is not None and result.wip is not None and result.start is not None:
            self.publisher.push_wip(task, attempt, result.start, result.wip, result.house)

    def _why(self, plan: Settlement, result: AttemptResult) -> str:
        """Return what is kept of why it ended so; for a task that goes on by itself, why it waits."""
        if result.model_refused:
            return announce.MODEL_REFUSED
        if plan.trigger is Trigger.RELEASED:
            return announce.why_it_waits(result.outcome, result.detail, self.clock.now())
        return result.detail

    def _for_record(self, detail: str) -> str:
        return clip(self.redact(detail), 2000)
