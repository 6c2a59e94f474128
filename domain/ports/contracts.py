"""What is kept of repositories' own files, and of what became of our pull requests there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from domain.model import Actor, Category, Task


class OutcomeKind(StrEnum):
    """What people, or time, made of a pull request of ours."""

    MERGED = "merged"
    CLOSED = "closed"
    CHANGES_ASKED = "changes_asked"
    APPROVED = "approved"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullOutcome:
    """One such outcome: whose pull request, what, by whom, and when we heard of it.

    Anybody may review on a public repository: who did is told, and not whether their word counts.
    """

    task_id: int
    repository_name: str
    pull_number: int
    kind: OutcomeKind
    by: Actor
    at: datetime


@dataclass(frozen=True, slots=True)
class PullCount:
    """How many pull requests of ours are open in a repository, and how many were new since some moment."""

    open: int
    new: int


class RepositoryLabels(Protocol):
    """Labels of repositories' own, as their files named them when they were last read."""

    def labels_of(self, forge: str, repository_id: str) -> Mapping[str, Category]:
        """Return a repository's labels in lower case, with whose rules each follows."""

    def keep_labels(self, forge: str, repository_id: str, labels: Mapping[str, Category]) -> None:
        """Replace what is known of a repository's labels. Raises StoreUnavailable."""


class PullBook(Protocol):
    """What became of our pull requests."""

    def pull_count(self, task: Task, since: datetime) -> PullCount:
        """Count the pull requests of a task's repository but its own."""

    def outcomes(self, since: datetime | None = None) -> list[PullOutcome]:
        """Return outcomes, oldest first. Those of events are written by the inbox."""

    def expire(self, task: Task, pull_number: int, by: Actor) -> bool:
        """Write down that a draft was left alone for too long; False where that was before."""


class Contracts(RepositoryLabels, PullBook, Protocol):
    """Both: one database keeps them."""
