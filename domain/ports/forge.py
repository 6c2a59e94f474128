"""What a forge can do for us, how it words its webhooks, and how a plugin offers both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from domain.events import Event
from domain.model import (
    Actor,
    CloneAccess,
    Comment,
    Issue,
    IssueRef,
    Permission,
    Pull,
    PullProposal,
    Repository,
)


class Capability(StrEnum):
    """What a forge may or may not be able to do; most have a protocol in `forge_capabilities`."""

    DRAFT_PULLS = "draft pull requests"
    REACTIONS = "reactions"
    REACTION_LISTS = "lists of reactions"
    LABELS = "labels"
    FILES = "files"
    CHECKS = "checks"
    CI = "continuous integration"
    RERUNS = "reruns of jobs"
    REVIEWS = "review threads"
    REVIEW_REQUESTS = "review requests"
    DELIVERIES = "missed deliveries"
    PULL_LISTS = "lists of pull requests"
    SECRETS = "short-lived secrets"


class Purpose(StrEnum):
    """What git is going to do with a credential, and so the most that it may allow."""

    FETCH = "fetch"
    PUSH = "push"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChange:
    """A label put on an issue (`added`) or taken off it, by whom, and when."""

    label: str
    added: bool
    actor: Actor
    at: datetime


class Forge(Protocol):
    """A code forge, without git: pushing is the harness' business on every forge.

    Every method may raise ForgeUnavailable (worth another try later) and ForgeError (not).
    """

    name: str
    capabilities: frozenset[Capability]

    @property
    def identity(self) -> Actor:
        """Who we are on this forge; our own events are known by this id."""

    def repository(self, repository_id: str) -> Repository:
        """Return the repository by its permanent id. Raises NotFound."""

    def repository_named(self, full_name: str) -> Repository:
        """Return the repository that is called so now, in whatever case. Raises NotFound."""

    def labelled_issues(
        self, repository_id: str, labels: Sequence[str], *, changed_since: datetime
    ) -> Iterator[Issue]:
        """Yield open issues (no pull requests) that carry one of the labels, each once, oldest first.

        Only those that changed at that moment or later. Lazily: who has enough pays for no further page.
        Raises NotFound.
        """

    def label_changes(self, issue: IssueRef) -> tuple[LabelChange, ...]:
        """Return every label put on and taken off, oldest first, all pages. Raises NotFound."""

    def issue(self, issue: IssueRef) -> Issue:
        """Return the issue as it stands now. Raises NotFound."""

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """Return every comment, oldest first, all pages. Raises NotFound."""

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """Return what this user (by id, not by name) may do now; NONE for a stranger."""

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """Mint: return a url without credentials and, apart, a new short-lived credential. Raises NotFound.

        It is good for this repository alone, and allows no more than to read contents (FETCH), or to write
        them (PUSH); never workflows, never administration. No two calls give the same one.
        """

    def revoke_access(self, access: CloneAccess) -> None:
        """Make a credential useless from now on; one that is over already, or empty, is fine."""

    def noreply_address(self, actor: Actor) -> str:
        """Return the mail address that ties a commit to an account and shows nobody's own; "" where none is.

        From what is known of the actor alone: the forge is not asked.
        """

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """Return the newest pull request from this branch, open ones first, or None."""

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """Create the pull request, or bring the open one from the same branch to this text.

        Raises PermissionRefused.
        """

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """Write our comment on this topic, or rewrite it: never a second one. Raises PermissionRefused."""

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """Write a comment once per `key`; with the same key again, return the one already there."""


class WebhookDialect(Protocol):
    """How one forge signs and words its deliveries; pure, and light enough for the web process."""

    name: str

    def verify(self, body: bytes, headers: Sequence[tuple[bytes, bytes]], secrets: Sequence[bytes]) -> bool:
        """Tell whether the exact bytes are signed with one of the secrets. Constant time, never raises."""

    def delivery_id(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Return the forge's delivery id. Raises ValueError if absent or unusable."""

    def parse(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Event:
        """Return what the delivery means. Raises ValueError if it is not what its headers say."""


class Provider(Protocol):
    """A forge plugin, as found in the entry-point group `fixwright.providers`."""

    name: str

    def dialect(self) -> WebhookDialect:
        """Return the webhook side, without importing the forge's client."""

    def forge(self, options: Mapping[str, str]) -> Forge:
        """Return the client, made from this provider's own settings. Raises ConfigurationError."""
