"""Reads afresh what reviewers ask of a draft, for an attempt; and what its push did to those places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from domain.errors import ForgeError, ForgeUnavailable, GitError
from domain.hidden import as_read
from domain.model import Actor, Attempt, Publication, PublicationKind, Task
from domain.policy import may_trigger
from domain.ports import Capability, Forge, Reviewing, TaskQueue
from domain.ports.reviewing import ReviewLog, ReviewWish, ToldThread, Touch
from domain.reviewing import LONGEST_WORDS, OpenThread, changed_lines, open_threads, touch_of
from domain.text import clip, one_line
from harness.git import Mirror

log = structlog.get_logger(__name__)

MAX_LOOKUPS = 20
"""How many different authors of comments are looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What reviewers ask: as text with places for the brief, and their words alone."""

    text: str = ""
    words: tuple[str, ...] = ()


def read_reviews(task: Task, attempt: Attempt, forge: Forge, reviews: ReviewLog) -> Asked:
    """Return what an attempt is told of its draft's reviews, and write down that it was. Raises ForgeError.

    The wishes are bound to the attempt first: what is said after that is not lost, but for another one. An
    attempt that was begun for another reason is told of the threads that wait as well.
    """
    wishes = reviews.tell(attempt)
    pull = forge.find_pull(task.issue.repository_id, task.wip_branch) if task.wip_branch else None
    if pull is None or not pull.is_open:
        return Asked()
    may_write = _writers(task, forge)
    threads = _open_threads(task, forge, pull.number, may_write)
    if threads and not wishes and attempt.steps == 0:
        asker, source = threads[-1].said[-1].author, f"threads-{attempt.id}"
        reviews.hear(ReviewWish(task_id=task.id, pull_number=pull.number, source=source, reviewer=asker))
        wishes = reviews.tell(attempt)
    if attempt.steps == 0:
        told = [
            ToldThread(id=each.thread.id, path=each.thread.path, line=each.thread.line) for each in threads
        ]
        reviews.keep_threads(attempt, told)
    spoken = [wish for wish in wishes if wish.said.strip() and may_write(wish.reviewer)]
    said = [as_read(wish.said) for wish in spoken]
    said += [as_read(comment.body) for each in threads for comment in each.said]
    return Asked(text="\n\n".join([*map(_general, spoken), *map(_shown, threads)]), words=tuple(said))


def is_left_to_do(task: Task, forge: Forge, wishes: Sequence[ReviewWish]) -> bool:
    """Tell whether wishes that were heard during an attempt ask for anything more. Raises ForgeError."""
    may_write = _writers(task, forge)
    if any(wish.said.strip() and may_write(wish.reviewer) for wish in wishes):
        return True
    return bool(_open_threads(task, forge, wishes[-1].pull_number, may_write))


def note_touches(reviews: ReviewLog, queue: TaskQueue, mirror: Mirror, attempt: Attempt) -> None:
    """Write down what an attempt's push did to the threads that it was told of."""
    threads = reviews.threads_of(attempt.id)
    pushed = [
        each
        for each in queue.publications(attempt.task_id)
        if each.attempt_id == attempt.id and each.kind is PublicationKind.PULL
    ]
    if not threads or not pushed:
        return
    try:
        for thread, touch in _touches(threads, pushed[-1], mirror):
            reviews.touched(attempt, thread, touch)
    except GitError as error:
        log.warning("difference of a push not read", attempt=attempt.id, error=str(error))


def _touches(
    threads: Sequence[ToldThread], push: Publication, mirror: Mirror
) -> list[tuple[ToldThread, Touch]]:
    """Compare the branch as the reviewers saw it with what was pushed onto it."""
    if push.expected_sha in {"", push.commit_sha}:
        return [(thread, Touch.NO_COMMIT) for thread in threads]
    trees = mirror.tree_of(push.expected_sha), mirror.tree_of(push.commit_sha)
    changed = {change.path for change in mirror.changes(*trees)}
    lines = changed_lines(mirror.patch(*trees, context=0))
    return [(thread, touch_of(thread.path, thread.line, changed, lines)) for thread in threads]


def _writers(task: Task, forge: Forge) -> Callable[[Actor], bool]:
    """Return who tells whether somebody may write to the repository now; each is looked up once."""
    known: dict[str, bool] = {forge.identity.id: False}

    def may_write(actor: Actor) -> bool:
        if actor.id not in known:
            if len(known) > MAX_LOOKUPS:
                return False
            known[actor.id] = may_trigger(forge.permission_of(task.issue.repository_id, actor), actor)
        return known[actor.id]

    return may_write


def _open_threads(
    task: Task, forge: Forge, pull_number: int, may_write: Callable[[Actor], bool]
) -> tuple[OpenThread, ...]:
    if Capability.REVIEWS not in forge.capabilities or not isinstance(forge, Reviewing):
        return ()
    try:
        threads = forge.review_threads(task.issue.repository_id, pull_number)
    except ForgeUnavailable:
        raise
    except ForgeError as error:
        log.warning("review threads not read", task=task.id, error=str(error))
        return ()
    return open_threads(threads, forge.identity, may_write)


def _general(wish: ReviewWish) -> str:
    return f"{one_line(wish.reviewer.login, 60)} wrote of the whole change:\n{_words(wish.said)}"


def _shown(found: OpenThread) -> str:
    thread = found.thread
    place = one_line(thread.path, 300) + (f", line {thread.line}" if thread.line is not None else "")
    parts = [f"At {place}" + (" (these lines have changed since):" if thread.is_outdated else ":")]
    parts += [
        f"{one_line(each.author.login, 60)} wrote earlier:\n{_words(each.body)}" for each in found.earlier
    ]
    parts += [f"{one_line(each.author.login, 60)} wrote:\n{_words(each.body)}" for each in found.said]
    if found.others:
        parts.append(f"({found.others} by people who may not write to the repository left out)")
    return "\n".join(parts)


def _words(text: str) -> str:
    return clip(as_read(text).strip(), LONGEST_WORDS)
