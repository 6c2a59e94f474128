"""One claimed task, from the claim to its settlement."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from domain.approving import Gate, Waiting
from domain.errors import (
    BranchMoved,
    ConfigurationError,
    ForgeError,
    ForgeUnavailable,
    GitError,
    GitUnavailable,
    SandboxError,
    StaleWrite,
    Stopped,
    StoreUnavailable,
    Unpriced,
)
from domain.manners import HOUR, LOOK_AGAIN, why_wait
from domain.model import Attempt, Outcome, Publication, PublicationKind, Reason, Repository, Task
from domain.ports import Landing, Purpose
from domain.states import State, Trigger
from harness.access import RepositoryAccess
from harness.attempt import AttemptResult, AttemptRun, Order
from harness.house import House, known_house
from harness.interruption import InterruptibleSandbox
from harness.meter import AttemptMeter
from harness.publish import Publisher
from harness.room import full_or_raise, require_room
from harness.stopping import StopSignal
from harness.transcript import Transcript
from worker import guest_room, politeness, readiness
from worker.difference import keep_difference
from worker.edits import tell_at_the_start
from worker.fresh_look import FreshLook, Hindrance
from worker.gate import PublishGate, is_moved_on
from worker.halt import Halt
from worker.journal import StoreJournal
from worker.listening import Listening
from worker.review_reading import read_reviews
from worker.settle import Settler
from worker.shop import Shop as Shop
from worker.status_board import StatusBoard
from worker.status_desk import StatusDesk
from worker.supervisor import Rhythm, Supervisor
from worker.voice import Voice

log = structlog.get_logger(__name__)


class TaskWork:
    """Works on one claimed task. `halt` is how a shutdown or a cancel reaches it."""

    def __init__(self, shop: Shop, task: Task, halt: Halt) -> None:
        self._shop = shop
        self._task = task
        self._halt = halt
        self._forge = shop.forges[task.issue.forge]
        self._attempt: Attempt | None = None
        stop, sandbox = StopSignal(), InterruptibleSandbox(shop.bench.sandbox)
        halt.on_ask(stop.request)
        halt.on_ask(sandbox.interrupt)
        workspaces = shop.bench.workspaces.stoppable(stop)
        self._bench = replace(shop.bench, sandbox=sandbox, workspaces=workspaces)
        self._settler = Settler(
            queue=shop.queue,
            ledger=shop.ledger,
            forge=self._forge,
            voice=Voice(self._forge, shop.redact),
            clock=shop.clock,
            redact=shop.redact,
            caps=shop.caps,
            model=shop.model,
            receipts=shop.receipts,
            look=FreshLook(queue=shop.queue, forge=self._forge, serving=shop.serving),
            max_task_retries=shop.max_task_retries,
            reviews=shop.reviews,
        )
        desk = StatusDesk(queue=shop.queue, ledger=shop.ledger, caps=shop.caps, pages=shop.receipts.pages)
        self._board = StatusBoard(
            task, desk, self._settler.voice, shop.clock, every_seconds=shop.status_seconds
        )
        self._settler.began = self._board.began

    def run(self) -> None:
        """Do the work. A task that somebody else moved meanwhile is left to them."""
        try:
            with Supervisor(
                self._task,
                queue=self._shop.queue,
                desk=self._shop.desk,
                halt=self._halt,
                rhythm=Rhythm(lease_seconds=self._shop.lease_seconds, beat_seconds=self._shop.beat_seconds),
                tick=self._tick,
            ):
                result = self._result()
                if result is not None:
                    self._shop.desk.clear()  # what people said until now counts before anything is published
                    self._settle(result)
        except StaleWrite as error:
            log.info("task was moved by somebody else", task=self._task.id, why=str(error))
        finally:
            self._board.rest()  # from here on the rows speak

    def _tick(self) -> None:
        """Bring this issue's status up to date, and that of those who wait. Raises StoreUnavailable."""
        self._board.tick()
        if self._shop.waiting is not None:
            self._shop.waiting.tick()

    def _settle(self, result: AttemptResult) -> None:
        """Settle; a stop in the middle of publishing leaves the attempt open, and the next claim goes on."""
        try:
            self._settler.settle(self._task, self._attempt, result)
        except Stopped:
            self._settler.settle(self._task, self._attempt, self._stopped())

    def _stopped(self) -> AttemptResult:
        """Return what a stop means. Raises StaleWrite where the task is somebody else's now."""
        if self._halt.outcome is Outcome.CANCELLED:
            self._receipt_of_a_cancel()
            raise StaleWrite("cancelled while running")
        return AttemptResult(outcome=Outcome.INTERRUPTED)

    def _receipt_of_a_cancel(self) -> None:
        """Write down what a cancelled attempt has cost; the cancel itself has ended it already."""
        if self._attempt is None or self._shop.queue.task(self._task.id).state is not State.CANCELLED:
            return
        try:
            cancelled = AttemptResult(outcome=Outcome.CANCELLED, reason=Reason.WITHDRAWN)
            self._shop.receipts.write(self._task, self._attempt, cancelled)
        except ConfigurationError as error:
            log.error("no receipt could be written", task=self._task.id, problem=str(error))

    def _result(self) -> AttemptResult | None:
        """Return what the task came to; errors of forge, git and sandbox around the attempt included."""
        try:
            return self._work()
        except Stopped:
            return self._stopped()
        except (ForgeUnavailable, GitUnavailable, StoreUnavailable) as error:
            return AttemptResult(outcome=Outcome.TRANSIENT, detail=str(error))
        except OSError as error:
            return AttemptResult(outcome=Outcome.TRANSIENT, detail=str(full_or_raise(error)))
        except Unpriced as error:
            return AttemptResult.declined(Reason.UNPRICED, error)
        except SandboxError as error:
            return AttemptResult.declined(Reason.SANDBOX, error)
        except BranchMoved as error:
            return AttemptResult.declined(Reason.BRANCH_MOVED, error)
        except (ForgeError, GitError) as error:
            return self._refused(error)

    def _refused(self, error: ForgeError | GitError) -> AttemptResult | None:
        """Park the task if its place was taken away meanwhile; return what else a refusal means."""
        try:
            found = self._settler.look.place(self._task)
        except ForgeUnavailable as away:
            return AttemptResult(outcome=Outcome.TRANSIENT, detail=str(away))
        except ForgeError:
            return AttemptResult.declined(Reason.ENVIRONMENT, error)
        if isinstance(found, Hindrance):
            self._settler.stop(self._task, found)
            return None
        return AttemptResult.declined(Reason.ENVIRONMENT, error)

    def _work(self) -> AttemptResult | None:
        task, shop = self._task, self._shop
        repository = self._settler.look.before_work(task)
        if isinstance(repository, Hindrance):
            self._settler.stop(task, repository)
            return None
        self._settler.was_private = repository.private
        if self._stands_back():
            return None
        access = RepositoryAccess(self._forge, repository.id, shop.redact)
        mirror = self._bench.workspaces.mirror_for(repository)
        self._settler.publisher = Publisher(
            self._forge,
            shop.queue,
            mirror,
            access,
            redact=shop.redact,
            manners=shop.manners,
        )
        self._settler.is_watched = partial(readiness.is_watched, self._forge, mirror, repository)
        require_room(shop.bench.workspaces, shop.least_free_bytes)
        price = shop.price_of(shop.model)
        shop.bench.sandbox.self_test()
        self._attempt = shop.queue.begin_attempt(task)
        if self._went_on_publishing(repository, access):
            return None
        self._board.begin(self._attempt)
        tell_at_the_start(task, self._forge, self._settler.voice)
        meter = AttemptMeter(
            ledger=shop.ledger,
            task=task,
            attempt=self._attempt,
            caps=shop.caps,
            price=price,
            model=shop.model,
        )
        guest_room.tighten(meter, task, self._attempt, shop.guests, shop.ledger)
        return self._attempt_run(repository, access, meter)

    def _stands_back(self) -> bool:
        """Leave the issue to whoever has it already, or wait for room among the pull requests."""
        task, shop = self._task, self._shop
        taken = politeness.why_left_alone(task, self._forge, shop.queue)
        if taken:
            self._settler.stop(task, Hindrance(trigger=Trigger.CANCELLED, reason=Reason.TAKEN, detail=taken))
            return True
        now = shop.clock.now()
        is_up = any(each.pull_number for each in shop.queue.publications(task.id))
        is_up = is_up and bool(readiness.live_branch(task, self._forge))
        wait = "" if is_up else why_wait(shop.contracts.pull_count(task, now - HOUR), shop.pull_pace)
        wait = wait or guest_room.why_wait(task, shop.guests)
        if wait:
            shop.queue.move(task, Trigger.RELEASED, Landing(not_before=now + LOOK_AGAIN, detail=wait))
        return bool(wait)

    def _attempt_run(
        self, repository: Repository, access: RepositoryAccess, meter: AttemptMeter
    ) -> AttemptResult:
        shop, attempt = self._shop, self._opened()
        task = shop.queue.task(self._task.id)  # its branch may have come into being just now
        asked = read_reviews(task, attempt, self._forge, shop.reviews)
        comments = self._forge.comments(task.issue)
        order = Order(
            task=task,
            attempt=attempt,
            repository=repository,
            access=access,
            start_branch=readiness.live_branch(task, self._forge),
            past=readiness.past_attempts(shop.queue, attempt, self._transcript),
            instructions=readiness.words_of_writers(task, self._forge, comments),
            goes_ahead=readiness.goes_ahead(task, self._forge, comments),
            answers=shop.redact(readiness.answers(task, self._forge, shop.queue, comments)),
            ci=readiness.evidence_for(task, shop.watches),
            review=shop.redact(asked.text),
            review_words=asked.words,
            maintainer_wrote_issue=readiness.is_by_maintainer(task, self._forge),
            allowances=lambda: shop.queue.allowances(task.id),
            plan_first=readiness.wants_plan(task, self._forge),
            plan_approved=readiness.has_approved_plan(task, shop.queue),
        )
        journal = StoreJournal(
            queue=shop.queue,
            ledger=shop.ledger,
            transcript=self._transcript(attempt),
            clock=shop.clock,
            attempt=attempt,
            halt=self._halt,
            redact=shop.redact,
            tell=lambda text: self._settler.voice.say(task, "remark", text),
            board=self._board,
            caps=shop.caps,
            listening=Listening(self._task, self._forge, shop.desk, self._halt, comments),
            keep_labels=partial(shop.contracts.keep_labels, task.issue.forge, task.issue.repository_id),
        )
        called = shop.ledger.calls_on_attempt(attempt.id)
        result = AttemptRun(self._bench, order, meter, journal).run()
        self._heed_the_model(result, has_called=shop.ledger.calls_on_attempt(attempt.id) > called)
        if self._settler.publisher is not None:
            kept = transcript_path(shop.transcripts, attempt)
            keep_difference(self._settler.publisher.mirror, attempt, result.verdict, kept, shop.redact)
        return self._stopped() if self._halt.outcome is Outcome.CANCELLED else result

    def _heed_the_model(self, result: AttemptResult, *, has_called: bool) -> None:
        """Leave the model alone where its provider refuses the service, and go on where it has answered."""
        pause = self._shop.pause
        if pause is not None and result.model_refused:
            pause.refused(result.detail)
        elif pause and has_called and result.outcome not in {Outcome.TRANSIENT, Outcome.INTERRUPTED}:
            pause.worked()

    def _transcript(self, attempt: Attempt) -> Transcript:
        return Transcript(transcript_path(self._shop.transcripts, attempt), self._shop.redact)

    def _went_on_publishing(self, repository: Repository, access: RepositoryAccess) -> bool:
        """Carry a publication on that a crash or a gate held up, before anything is paid for again."""
        attempt, publisher = self._opened(), self._settler.publisher
        if publisher is None:
            return False
        for publication in self._shop.queue.publications(self._task.id):
            if publication.attempt_id != attempt.id:
                continue
            house = known_house(publisher.mirror, repository, self._task)
            if self._is_held(publication, house):
                return True
            if self._is_overtaken(publication, house.base(repository), access):
                return False
            done = publication
            if not publication.done_at:
                done = self._settler.carry_out(self._task, attempt, publication, house)
            if done.kind is PublicationKind.PULL:
                self._settler.finish(self._task, attempt)
                return True
        return False

    def _is_held(self, ready: Publication, house: House) -> bool:
        """Hold back what a crash left unpublished and nobody has approved, where it needs a word."""
        attempt, publisher = self._opened(), self._settler.publisher
        verdict = self._shop.queue.verdict(attempt)
        if not house.asks_before_publishing or ready.done_at or ready.kind is not PublicationKind.PULL:
            return False
        if publisher is None or verdict is None:
            return False
        if PublishGate(queue=self._shop.queue, mirror=publisher.mirror).is_open(self._task, ready.tree):
            return False
        self._settler.hold(self._task, attempt, ready, verdict.base_sha)
        return True

    def _is_overtaken(self, ready: Publication, base: str, access: RepositoryAccess) -> bool:
        """Begin anew, without the model, with a change that was approved while its base moved on.

        The next attempt finds the work of this one complete, carries it over and verifies it there.
        """
        publisher, queue = self._settler.publisher, self._shop.queue
        words = {word.change for word in queue.allowances(self._task.id)}
        asked = Waiting(gate=Gate.PUBLISH, name=ready.tree, attempt_id=self._opened().id)
        if publisher is None or ready.done_at or asked.word not in words:
            return False
        access.during(Purpose.FETCH, publisher.mirror.fetch)
        if not is_moved_on(publisher.mirror, ready, (ready.base_branch, base)):
            return False
        queue.end_attempt(self._opened(), Outcome.DECLINED)
        self._attempt = queue.begin_attempt(self._task)
        return True

    def _opened(self) -> Attempt:
        if self._attempt is None:
            raise StaleWrite("no attempt was begun")
        return self._attempt


def transcript_path(directory: Path, attempt: Attempt) -> Path:
    """Return where an attempt's transcript is."""
    return directory / f"attempt-{attempt.id}.jsonl"
