"""What reviewers ask of a draft, and which attempt was told of it: values, and where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from domain.model import Actor, Attempt


class Touch(StrEnum):
    """What a push did to the place of a thread, as its difference shows."""

    PLACE = "place"
    FILE = "file"
    ELSEWHERE = "elsewhere"
    NO_COMMIT = "no_commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewWish:
    """One review, or one comment, in which somebody who may write asks for changes to a draft.

    `source` is which one ("review-9", "comment-7"): however many deliveries told of it, it is one. `said` is
    what stands in it beside the threads. `wants_changes` is a review's own word for it.
    """

    task_id: int
    pull_number: int
    source: str
    reviewer: Actor
    wants_changes: bool = False
    said: str = ""
    heard_at: datetime | None = None
    attempt_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldThread:
    """A thread that an attempt was told of. `touch` is None until its change was pushed."""

    id: str
    path: str
    line: int | None
    touch: Touch | None = None


class ReviewLog(Protocol):
    """Wishes of reviewers, from hearing to answer. All may raise StoreUnavailable."""

    def hear(self, wish: ReviewWish) -> None:
        """Write a wish down, once per source; what its later deliveries add is added."""

    def untold(self) -> tuple[ReviewWish, ...]:
        """Return what no attempt was told of yet, oldest first."""

    def tell(self, attempt: Attempt) -> tuple[ReviewWish, ...]:
        """Return what an attempt is told of: all that is unanswered of its task.

        An attempt that has made steps goes on with what it was told before, and with nothing else.
        """

    def unanswered(self, task_id: int) -> tuple[ReviewWish, ...]:
        """Return what an attempt was told of and nobody was answered about, oldest first."""

    def answered(self, wishes: Sequence[ReviewWish]) -> None:
        """Write down that the reviewers were answered, or that nothing was left to be done."""

    def keep_threads(self, attempt: Attempt, threads: Sequence[ToldThread]) -> None:
        """Write down of which threads an attempt is told; those that are known stay as they are."""

    def threads_of(self, attempt_id: int) -> tuple[ToldThread, ...]:
        """Return the threads that an attempt was told of, in the order of the pull request."""

    def touched(self, attempt: Attempt, thread: ToldThread, touch: Touch) -> None:
        """Write down what the attempt's push did to a thread's place."""
