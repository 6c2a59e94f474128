"""What the contract suite needs of a forge besides its client: people who act, and faults on demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from domain.model import Actor, IssueRef, Permission, PullProposal
from domain.ports import Capability, Forge, WebhookDialect

CheckT = TypeVar("CheckT", bound=Callable[..., None])


def needs(capability: Capability) -> Callable[[CheckT], CheckT]:
    """Mark a check of what only some forges can do: where it is not claimed, it is skipped, visibly."""

    def mark(check: CheckT) -> CheckT:
        check.capability = capability  # type: ignore[attr-defined]  # read by the fixture below
        return check

    return mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A webhook as it arrived: header names in lower case, values and body as they came."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """A forge's webhooks: how they are read, what signs them, and all that were made so far, in order."""

    dialect: WebhookDialect
    secret: bytes = field(repr=False)
    deliveries: Callable[[], Sequence[Delivered]]


class ForgeStage(ABC):
    """A forge with people in it, fresh for each check. Making names unique is the stage's business."""

    @abstractmethod
    def forge(self) -> Forge:
        """Return a client that acts as the bot."""

    @abstractmethod
    def repository(self, *, default_branch: str = "main", private: bool = False, empty: bool = False) -> str:
        """Make a repository in which the bot may write, with one commit unless empty; return its id."""

    @abstractmethod
    def archive(self, repository_id: str) -> None:
        """Make a repository read-only."""

    @abstractmethod
    def restrict_bot(self, repository_id: str) -> None:
        """Leave the bot the right to read, and take the right to write."""

    @abstractmethod
    def person(self, login: str) -> Actor:
        """Register somebody."""

    @abstractmethod
    def rename(self, person: Actor, login: str) -> Actor:
        """Give somebody another login, which frees the old one."""

    @abstractmethod
    def delete_person(self, person: Actor) -> None:
        """Remove somebody's account; what they wrote stays."""

    @abstractmethod
    def grant(self, repository_id: str, person: Actor, permission: Permission) -> None:
        """Set what somebody may do."""

    @abstractmethod
    def open_issue(
        self, repository_id: str, author: Actor, title: str, body: str | None, labels: tuple[str, ...] = ()
    ) -> IssueRef:
        """Open an issue."""

    @abstractmethod
    def label(self, issue: IssueRef, by: Actor, name: str) -> None:
        """Put a label on."""

    @abstractmethod
    def unlabel(self, issue: IssueRef, by: Actor, name: str) -> None:
        """Take a label off."""

    @abstractmethod
    def close_issue(self, issue: IssueRef, by: Actor) -> None:
        """Close an issue."""

    @abstractmethod
    def comment(self, issue: IssueRef, author: Actor, body: str) -> str:
        """Write a comment and return its id."""

    @abstractmethod
    def edit_comment(self, issue: IssueRef, comment_id: str, by: Actor, body: str) -> None:
        """Change a comment, whoever wrote it."""

    @abstractmethod
    def delete_comment(self, issue: IssueRef, comment_id: str, by: Actor) -> None:
        """Delete a comment, whoever wrote it."""

    @abstractmethod
    def push(self, repository_id: str, branch: str, path: str) -> str:
        """Put a commit that writes this file on a branch, new or not, and return its sha."""

    @abstractmethod
    def open_pull(self, repository_id: str, author: Actor, head: str, base: str) -> int:
        """Open a pull request and return its number."""

    @abstractmethod
    def close_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """Close a pull request without merging it."""

    @abstractmethod
    def merge_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """Merge a pull request, draft or not."""

    def rename_repository(self, repository_id: str) -> None:
        """Give a repository another name; its id stays."""
        pytest.skip("this stage cannot rename a repository")

    def refuse_pushes(self, repository_id: str, words: str) -> None:
        """Let the forge refuse every push from now on, with these words."""
        pytest.skip("this stage cannot make the forge refuse a push")

    def hearing(self) -> Hearing:
        """Return the forge's webhooks."""
        pytest.skip("this stage has no webhooks")

    def garble(self, method: str) -> None:
        """Make the next answer to the bot's call of a port method one that cannot be understood."""
        pytest.skip("this stage cannot garble an answer")

    def fail(self, method: str, *, times: int, acted: bool) -> None:
        """Make the bot's next calls of a port method raise ForgeUnavailable, after acting or before."""
        pytest.skip("this stage cannot make the forge fail")

    def forge_factory(self) -> Callable[[], Forge]:
        """Return something picklable that makes the bot's client in another process."""
        pytest.skip("this stage cannot be shared with another process")

    def reactions(self, issue: IssueRef, comment_id: str) -> list[tuple[Actor, str]]:
        """Return who reacted to a comment, and how."""
        pytest.skip("this stage cannot list reactions")

    def react(self, issue: IssueRef, comment_id: str, by: Actor, reaction: str) -> None:
        """Let a person put a reaction on a comment."""
        pytest.skip("this stage cannot let people react")

    def report_ci(
        self,
        repository_id: str,
        sha: str,
        name: str,
        conclusion: str,
        *,
        as_status: bool = False,
        log: str = "",
    ) -> None:
        """Let continuous integration say something of a commit; an empty conclusion: it still runs."""
        pytest.skip("this stage has no continuous integration")

    def review(self, repository_id: str, number: int, by: Actor, path: str, comments: list[str]) -> None:
        """Open a thread with these comments on a line of a pull request."""
        pytest.skip("this stage has no reviews")

    def miss_delivery(self) -> str:
        """Let a webhook go astray; returns its guid."""
        pytest.skip("this stage has no record of webhooks")


class StagedChecks:
    """The fixtures that all checks share."""

    @pytest.fixture
    def stage(self) -> ForgeStage:
        """A fresh stage. Every subclass overrides this."""
        pytest.fail("override the fixture `stage` to return your ForgeStage")

    @pytest.fixture(autouse=True)
    def _is_claimed(self, request: pytest.FixtureRequest) -> None:
        capability = getattr(request.function, "capability", None)
        if capability is None:
            return
        forge: Forge = request.getfixturevalue("forge")
        if capability not in forge.capabilities:
            pytest.skip(f"{forge.name} does not claim {capability.value}")

    @pytest.fixture
    def forge(self, stage: ForgeStage) -> Forge:
        """The bot's client."""
        return stage.forge()

    @pytest.fixture
    def repository_id(self, stage: ForgeStage) -> str:
        """A repository with one commit on `main`."""
        return stage.repository()

    @pytest.fixture
    def person(self, stage: ForgeStage) -> Actor:
        """Somebody without any permission."""
        return stage.person("rosa")

    @pytest.fixture
    def issue(self, stage: ForgeStage, repository_id: str, person: Actor) -> IssueRef:
        """An open issue by `person`."""
        return stage.open_issue(repository_id, person, "Crash on start", "It crashes.")


def proposal(head: str = "fixwright/issue-1", **changes: str | tuple[str, ...]) -> PullProposal:
    """Return a pull request to propose; `changes` replace fields of it."""
    fields: dict[str, str | tuple[str, ...]] = {
        "title": "Fix the crash",
        "body": "Why and how.",
        "head_branch": head,
        "base_branch": "main",
        "marker": "<!-- fixwright:task-1 -->",
    }
    return PullProposal(**{**fields, **changes})  # type: ignore[arg-type]  # fields by name, for brevity
