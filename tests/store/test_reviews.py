"""Wishes of reviewers: heard once, told to one attempt at a time, answered once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.model import Actor, Task
from domain.ports.reviewing import ReviewWish, ToldThread, Touch
from store.database import Database
from store.inbox import SqliteInbox
from store.reviews import SqliteReviews
from store.tasks import SqliteTaskQueue
from tests.store.makers import SetClock, running_task

ADA = Actor(id="7", login="ada\ud800")


@pytest.fixture
def reviews(database: Database, clock: SetClock) -> SqliteReviews:
    return SqliteReviews(database, clock)


@pytest.fixture
def task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> Task:
    return running_task(inbox, queue, 12)


def wish(task: Task, source: str = "review-9", said: str = "", *, wants: bool = False) -> ReviewWish:
    return ReviewWish(
        task_id=task.id, pull_number=3, source=source, reviewer=ADA, wants_changes=wants, said=said
    )


def test_deliveries_of_one_review_are_one_wish(reviews: SqliteReviews, task: Task, clock: SetClock) -> None:
    reviews.hear(wish(task))
    reviews.hear(wish(task, said="Shorter.", wants=True))
    reviews.hear(wish(task, said="Another."))
    (heard,) = reviews.untold()
    assert (heard.said, heard.wants_changes, heard.heard_at) == ("Shorter.", True, clock.now())
    assert heard.reviewer.id == "7" and heard.attempt_id is None


def test_a_wish_is_told_until_it_is_answered(
    reviews: SqliteReviews, queue: SqliteTaskQueue, task: Task
) -> None:
    reviews.hear(wish(task))
    attempt = queue.begin_attempt(task)
    (told,) = reviews.tell(attempt)
    assert told.attempt_id == attempt.id and reviews.untold() == ()
    assert reviews.tell(attempt) == reviews.unanswered(task.id) == (told,)
    reviews.hear(wish(task, "comment-4", "More."))
    assert len(reviews.untold()) == 1 and reviews.unanswered(task.id) == (told,)
    reviews.answered([told])
    reviews.answered([told])
    assert reviews.unanswered(task.id) == () and len(reviews.untold()) == 1
    reviews.hear(wish(task))
    assert len(reviews.untold()) == 1, "a late delivery of what was answered is no new wish"


def test_an_attempt_that_has_made_steps_hears_of_nothing_new(
    reviews: SqliteReviews, queue: SqliteTaskQueue, task: Task
) -> None:
    reviews.hear(wish(task))
    attempt = queue.begin_attempt(task)
    before = reviews.tell(attempt)
    attempt = queue.note_progress(attempt, steps=1)
    reviews.hear(wish(task, "review-10"))
    assert reviews.tell(attempt) == before and len(reviews.untold()) == 1


def test_threads_are_kept_as_they_were_told(
    reviews: SqliteReviews, queue: SqliteTaskQueue, task: Task
) -> None:
    attempt = queue.begin_attempt(task)
    first, second = ToldThread(id="T1", path="a.py", line=3), ToldThread(id="T2", path="b.py", line=None)
    reviews.keep_threads(attempt, [first])
    reviews.keep_threads(attempt, [replace(first, line=99), second])
    reviews.touched(attempt, second, Touch.FILE)
    assert reviews.threads_of(attempt.id) == (first, replace(second, touch=Touch.FILE))
    assert reviews.threads_of(attempt.id + 1) == ()
