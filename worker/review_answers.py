"""Answers reviewers after an attempt: in their threads, on the pull request, by asking for a review again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.fitting import fitted
from domain.model import Publication, PublicationKind, Reason, Task
from domain.ports import Capability, Forge, RequestingReviews, Reviewing, TaskQueue
from domain.ports.reviewing import ReviewLog, ReviewWish, ToldThread
from domain.states import State
from domain.text import Redactor
from worker import review_words

log = structlog.get_logger(__name__)


def answer_reviews(task: Task, forge: Forge, queue: TaskQueue, reviews: ReviewLog, redact: Redactor) -> bool:
    """Answer what an attempt was told of; may be repeated. False where that is worth another try later."""
    wishes = reviews.unanswered(task.id)
    if not wishes or task.state is State.RUNNING:
        return True
    attempt_id = wishes[-1].attempt_id or 0
    push = _push_of(queue, task, attempt_id)
    try:
        if push is not None:
            threads = reviews.threads_of(attempt_id)
            _in_threads(task, forge, push, threads, redact)
            _on_the_whole(task, forge, push, wishes, len(threads))
            _ask_again(task, forge, wishes)
            reviews.answered(wishes)
        elif _came_to_nothing(task) and _has_ended(queue, task, attempt_id):
            pull = replace(task.issue, number=wishes[-1].pull_number)
            left = _push_of(queue, task, attempt_id, PublicationKind.WIP)
            text = fitted(review_words.not_followed(task.issue.number, left.commit_sha if left else ""))
            forge.add_comment(pull, f"review-{attempt_id}", text)
    except ForgeUnavailable as error:
        log.warning("reviewers' answers have to wait", task=task.id, error=str(error))
        return False
    except ForgeError as error:
        log.warning("reviewers not answered", task=task.id, error=str(error))
    return True


def _push_of(
    queue: TaskQueue, task: Task, attempt_id: int, kind: PublicationKind = PublicationKind.PULL
) -> Publication | None:
    done = [each for each in queue.publications(task.id) if each.done_at is not None]
    return next((each for each in done if each.attempt_id == attempt_id and each.kind is kind), None)


def _came_to_nothing(task: Task) -> bool:
    """Tell whether a task stands still with nothing to show; what waits for approval may be just right."""
    return task.state is State.BLOCKED and task.reason is not Reason.AWAITING_APPROVAL


def _has_ended(queue: TaskQueue, task: Task, attempt_id: int) -> bool:
    return any(each.id == attempt_id and each.outcome is not None for each in queue.attempts(task.id))


def _in_threads(
    task: Task, forge: Forge, push: Publication, told: Sequence[ToldThread], redact: Redactor
) -> None:
    """Answer once in each thread that the attempt was told of. A thread that is gone has no answer."""
    if not told or Capability.REVIEWS not in forge.capabilities or not isinstance(forge, Reviewing):
        return
    repository, number = task.issue.repository_id, push.pull_number or 0
    now = {thread.id: thread for thread in forge.review_threads(repository, number)}
    for each in told:
        if each.id not in now:
            continue
        said = fitted(redact(review_words.on_thread(each.touch, push.commit_sha, each.path)))
        try:
            forge.reply(repository, number, now[each.id], f"review-{push.attempt_id}", said)
        except ForgeUnavailable:
            raise
        except ForgeError as error:
            log.warning("thread not answered", task=task.id, thread=each.id, error=str(error))


def _on_the_whole(
    task: Task, forge: Forge, push: Publication, wishes: Sequence[ReviewWish], threads: int
) -> None:
    """Answer on the pull request where something was asked outside threads."""
    if not any(wish.said.strip() for wish in wishes):
        return
    is_new = push.commit_sha != push.expected_sha
    text = review_words.on_pull(push.commit_sha, is_new=is_new, threads=threads)
    pull = replace(task.issue, number=push.pull_number or 0)
    forge.add_comment(pull, f"reviewed-{push.attempt_id}", fitted(text))


def _ask_again(task: Task, forge: Forge, wishes: Sequence[ReviewWish]) -> None:
    """Ask those for another review who asked for changes; what the forge refuses is logged."""
    if Capability.REVIEW_REQUESTS not in forge.capabilities or not isinstance(forge, RequestingReviews):
        return
    reviewers = {wish.reviewer.id: wish for wish in wishes if wish.wants_changes}
    for wish in reviewers.values():
        try:
            forge.request_review(task.issue.repository_id, wish.pull_number, wish.reviewer)
        except ForgeUnavailable:
            raise
        except ForgeError as error:
            log.warning("review not requested", task=task.id, reviewer=wish.reviewer.id, error=str(error))
