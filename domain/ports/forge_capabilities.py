"""What only some forges can do: a small protocol for each capability, and the values that it speaks in.

A forge that names a capability has its methods; one that does not is never asked. Like the methods of the
Forge port, all may raise ForgeUnavailable (worth another try later), NotFound, PermissionRefused, ForgeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from domain.model import Actor, Comment, IssueRef, Pull


class Conclusion(StrEnum):
    """How a check of ours ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    ACTION_REQUIRED = "action_required"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """A check of ours on a commit. `key` makes it the same one again; `conclusion` None: still running."""

    name: str
    sha: str
    key: str
    title: str
    summary: str
    conclusion: Conclusion | None = None


class CiState(StrEnum):
    """What continuous integration says of a commit. NONE: nothing has reported, perhaps nothing ever will."""

    NONE = "none"
    PENDING = "pending"
    GREEN = "green"
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class CiJob:
    """One check or status of a commit. `job_id` is "" where there is no log to be had.

    `conclusion` is the forge's own word for how it ended, in lower case, "" where it has none.
    """

    name: str
    state: CiState
    url: str
    job_id: str = ""
    conclusion: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiStatus:
    """All of a commit's checks and statuses, our own left out. `note` says what could not be seen."""

    state: CiState
    jobs: tuple[CiJob, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """Somebody's reaction to a comment. `content` is GitHub's word for it, such as "+1" for a thumb up."""

    actor: Actor
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewThread:
    """A conversation about lines of a pull request, oldest comment first. `line` None: not there any more."""

    id: str
    path: str
    line: int | None
    is_resolved: bool
    is_outdated: bool
    comments: tuple[Comment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedDelivery:
    """A webhook that never was answered with success. `guid` is the delivery id that a redelivery keeps.

    `repository_id` is "" where the forge does not say, or where it concerns no single repository.
    """

    id: str
    guid: str
    event: str
    action: str
    at: datetime
    status_code: int
    repository_id: str = ""


@runtime_checkable
class Reacting(Protocol):
    """Capability.REACTIONS."""

    def react(self, issue: IssueRef, comment_id: str, reaction: str) -> None:
        """Put a reaction such as "eyes" on a comment; a second time changes nothing."""


@runtime_checkable
class ListingReactions(Protocol):
    """Capability.REACTION_LISTS."""

    def reactions(self, issue: IssueRef, comment_id: str) -> tuple[Reaction, ...]:
        """Return every reaction to a comment on an issue or pull request, all pages. Raises NotFound."""


@runtime_checkable
class Labelling(Protocol):
    """Capability.LABELS."""

    def add_labels(self, issue: IssueRef, labels: Sequence[str]) -> None:
        """Put labels on, making those that do not exist; what is on already stays."""

    def remove_label(self, issue: IssueRef, label: str) -> None:
        """Take a label off, if it is on."""


@runtime_checkable
class ReadingFiles(Protocol):
    """Capability.FILES."""

    def file_at(self, repository_id: str, ref: str, path: str) -> bytes | None:
        """Return a file's bytes at a branch or commit, or None where there is no such file."""


@runtime_checkable
class Checking(Protocol):
    """Capability.CHECKS."""

    def ensure_check(self, repository_id: str, report: CheckReport) -> str:
        """Make the check with this key on this commit, or bring it to this report; returns its id."""


@runtime_checkable
class WatchingCi(Protocol):
    """Capability.CI."""

    def ci_status(self, repository_id: str, sha: str) -> CiStatus:
        """Return what continuous integration says of a commit, all pages."""

    def job_log_tail(self, repository_id: str, job_id: str, *, most_bytes: int = 32_768) -> str:
        """Return the end of a job's log, whole lines."""


@runtime_checkable
class Rerunning(Protocol):
    """Capability.RERUNS."""

    def rerun_job(self, repository_id: str, job_id: str) -> None:
        """Run a job that has ended once more. Raises PermissionRefused where we may only read."""


@runtime_checkable
class Reviewing(Protocol):
    """Capability.REVIEWS."""

    def review_threads(self, repository_id: str, pull_number: int) -> tuple[ReviewThread, ...]:
        """Return every thread of a pull request's reviews."""

    def reply(self, repository_id: str, pull_number: int, thread: ReviewThread, key: str, body: str) -> str:
        """Answer in a thread once per key; returns the comment's id."""


@runtime_checkable
class RequestingReviews(Protocol):
    """Capability.REVIEW_REQUESTS."""

    def request_review(self, repository_id: str, pull_number: int, reviewer: Actor) -> None:
        """Ask somebody to review a pull request; a second time changes nothing.

        Where only a name is known, as from a repository's own file, the reviewer's id is "".
        Raises ForgeError where the forge will not ask this one: its own author, or who has no access.
        """


@runtime_checkable
class ListingPulls(Protocol):
    """Capability.PULL_LISTS."""

    def open_pulls(self, repository_id: str) -> Iterator[Pull]:
        """Yield the open pull requests, the newest first; lazily. Raises NotFound."""


@runtime_checkable
class Redelivering(Protocol):
    """Capability.DELIVERIES."""

    def missed_deliveries(self, since: datetime) -> tuple[MissedDelivery, ...]:
        """Return the deliveries since then that we never answered with success, oldest first."""

    def redeliver(self, delivery_id: str) -> None:
        """Ask for a delivery to be sent again; it comes with the same delivery id, or is made up for."""


@runtime_checkable
class HoldingSecrets(Protocol):
    """Capability.SECRETS."""

    def on_secret(self, tell: Callable[[str], None]) -> None:
        """Tell of every credential from its first moment on, those held now included: for redaction."""

    def close(self) -> None:
        """Revoke what is held. The forge can be used again afterwards."""


@runtime_checkable
class KnowingItsRights(Protocol):
    """A forge that can tell, before anything is tried, what it may not do and publishing takes."""

    def lacking_rights(self, repository_id: str) -> tuple[str, ...]:
        """Return the permissions that are lacking in a repository, in the forge's own words."""


@runtime_checkable
class SelfChecking(Protocol):
    """A forge that can tell at the start whether it is set up rightly."""

    def check(self) -> None:
        """Ask the forge. Raises ConfigurationError naming what is wrong, ForgeError if it is not known."""
