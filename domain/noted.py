"""Events of places, pull requests and reviews: written down; what acts on one of them says so in `policy`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from domain.model import Actor, IssueRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What all have. `repository_id` and `repository_name` are "" and `number` is None where there is none.

    `action` is the forge's own word, such as "opened".
    """

    forge: str
    action: str
    actor: Actor
    repository_id: str = ""
    repository_name: str = ""
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueChanged(Noted):
    """An issue was opened, edited, locked or opened again; `labels` are those on it now.

    A label that it was opened with is no wish for work: a template puts labels on in anybody's name.
    """

    labels: tuple[str, ...] = ()
    title_changed: bool = False
    body_changed: bool = False

    @property
    def issue(self) -> IssueRef:
        """Which issue. Raises ValueError where it has no number."""
        if self.number is None:
            raise ValueError("an issue has a number")
        return IssueRef(forge=self.forge, repository_id=self.repository_id, number=self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueCommented(Noted):
    """Somebody wrote on an issue, and it is no command. What was written is read afresh where it counts."""

    comment_id: str
    at: datetime | None = None

    @property
    def issue(self) -> IssueRef:
        """Which issue. Raises ValueError where it has no number."""
        if self.number is None:
            raise ValueError("an issue has a number")
        return IssueRef(forge=self.forge, repository_id=self.repository_id, number=self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullChanged(Noted):
    """A pull request was opened, pushed to (`synchronize`), labelled and the like, but not closed.

    `head_branch` is "" for a branch of another repository.
    """

    head_branch: str = ""
    head_sha: str = ""
    is_draft: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewGiven(Noted):
    """A review of a pull request. `state`: approved, changes_requested, commented or dismissed."""

    review_id: str
    state: str
    body: str = ""
    head_branch: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCommented(Noted):
    """A comment on a line, part of a review. `in_reply_to` is "" for the first one of a thread."""

    review_id: str
    comment_id: str
    path: str = ""
    body: str = ""
    in_reply_to: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullCommented(Noted):
    """A comment in a pull request's conversation that calls somebody by name, and is no command."""

    comment_id: str
    body: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAsked(Noted):
    """Somebody wants a check of an App run again, or pressed one of its buttons (`button`).

    `key` is what the App itself wrote on it; `app_id` says whose it is.
    """

    check_id: str
    app_id: str
    sha: str
    key: str = ""
    button: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationChanged(Noted):
    """The App was installed, suspended, taken out, or given other repositories, by full name."""

    installation_id: str
    account: str
    app_id: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryChanged(Noted):
    """A repository was renamed, transferred, archived, made private or public, or deleted."""

    former_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinged(Noted):
    """The webhook was set up, and works."""

    hook_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One review with its comments, however many deliveries told of it. `given` is None before it came."""

    id: str
    given: ReviewGiven | None
    comments: tuple[ReviewCommented, ...]


def coalesced(events: Iterable[Noted]) -> tuple[Review, ...]:
    """Put reviews together from what came of each, in whatever order; the newest word of a thing counts."""
    given: dict[tuple[str, str, str], ReviewGiven | None] = {}
    comments: dict[tuple[str, str, str], dict[str, ReviewCommented]] = {}
    for event in events:
        if not isinstance(event, ReviewGiven | ReviewCommented):
            continue
        key = (event.forge, event.repository_id, event.review_id)
        given.setdefault(key, None)
        comments.setdefault(key, {})
        if isinstance(event, ReviewGiven):
            given[key] = event
        else:
            comments[key][event.comment_id] = event
    return tuple(
        Review(
            id=key[2],
            given=given[key],
            comments=tuple(sorted(comments[key].values(), key=lambda each: int(each.comment_id))),
        )
        for key in given
    )
