"""The embedded forge set up for the contract suite of the Forge port."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from domain.model import Actor, IssueRef, Permission
from domain.ports import Forge
from providers.conformance import Delivered, ForgeStage, Hearing
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from providers.local.outbox import HookHeaders, WebhookTarget
from providers.local.people import LocalWorld
from providers.local.plugin import LocalProvider
from providers.local.reviews import Remark

SECRET = "a-secret-of-the-stage-of-thirty-two-bytes"


def delivered(world: LocalWorld, headers: HookHeaders) -> list[Delivered]:
    """Return every webhook on record as it would arrive."""
    target = WebhookTarget(url="", secret=SECRET, headers=headers)
    return [
        Delivered(
            headers=tuple(
                (name.lower().encode(), value.encode()) for name, value in target.headers_of(hook).items()
            ),
            body=hook.payload,
        )
        for hook in world.deliveries()
    ]


class LocalStage(ForgeStage):
    """An embedded forge in a fresh directory."""

    def __init__(self, root: Path) -> None:
        self.world = LocalWorld(root)
        self._staff = self.world.create_user("stagehand")
        self._made = 0

    def forge(self) -> Forge:
        """See `ForgeStage`."""
        return LocalForge(self.world.root)

    def forge_factory(self) -> Callable[[], Forge]:
        """See `ForgeStage`."""
        return partial(LocalForge, self.world.root)

    def repository(self, *, default_branch: str = "main", private: bool = False, empty: bool = False) -> str:
        """See `ForgeStage`."""
        self._made += 1
        return self.world.create_repository(
            f"octo/widgets-{self._made}",
            default_branch=default_branch,
            private=private,
            files=None if empty else {"README.md": b"# Widgets\n"},
        ).id

    def rename_repository(self, repository_id: str) -> None:
        """See `ForgeStage`."""
        self.world.rename_repository(repository_id, f"octo/renamed-{repository_id}", by=self._staff)

    def refuse_pushes(self, repository_id: str, words: str) -> None:
        """See `ForgeStage`."""
        self.world.git.refuse_pushes(repository_id, words)

    def hearing(self) -> Hearing:
        """See `ForgeStage`."""
        return Hearing(
            dialect=LocalProvider().dialect(),
            secret=SECRET.encode(),
            deliveries=partial(delivered, self.world, HookHeaders()),
        )

    def archive(self, repository_id: str) -> None:
        """See `ForgeStage`."""
        self.world.archive(repository_id)

    def restrict_bot(self, repository_id: str) -> None:
        """See `ForgeStage`."""
        self.world.grant(repository_id, self.world.bot, Permission.READ)

    def person(self, login: str) -> Actor:
        """See `ForgeStage`."""
        return self.world.create_user(login)

    def rename(self, person: Actor, login: str) -> Actor:
        """See `ForgeStage`."""
        return self.world.rename_user(person, login)

    def delete_person(self, person: Actor) -> None:
        """See `ForgeStage`."""
        self.world.delete_user(person)

    def grant(self, repository_id: str, person: Actor, permission: Permission) -> None:
        """See `ForgeStage`."""
        self.world.grant(repository_id, person, permission)

    def open_issue(
        self, repository_id: str, author: Actor, title: str, body: str | None, labels: tuple[str, ...] = ()
    ) -> IssueRef:
        """See `ForgeStage`."""
        return self.world.open_issue(repository_id, author, title=title, body=body, labels=labels)

    def label(self, issue: IssueRef, by: Actor, name: str) -> None:
        """See `ForgeStage`."""
        self.world.label(issue, by, name)

    def unlabel(self, issue: IssueRef, by: Actor, name: str) -> None:
        """See `ForgeStage`."""
        self.world.unlabel(issue, by, name)

    def close_issue(self, issue: IssueRef, by: Actor) -> None:
        """See `ForgeStage`."""
        self.world.close_issue(issue, by)

    def comment(self, issue: IssueRef, author: Actor, body: str) -> str:
        """See `ForgeStage`."""
        return self.world.comment(issue, author, body).id

    def edit_comment(self, issue: IssueRef, comment_id: str, by: Actor, body: str) -> None:
        """See `ForgeStage`."""
        self.world.edit_comment(comment_id, by, body)

    def delete_comment(self, issue: IssueRef, comment_id: str, by: Actor) -> None:
        """See `ForgeStage`."""
        self.world.delete_comment(comment_id, by)

    def reactions(self, issue: IssueRef, comment_id: str) -> list[tuple[Actor, str]]:
        """See `ForgeStage`."""
        return self.world.reactions(comment_id)

    def react(self, issue: IssueRef, comment_id: str, by: Actor, reaction: str) -> None:
        """See `ForgeStage`."""
        self.world.react(comment_id, by, reaction)

    def push(self, repository_id: str, branch: str, path: str) -> str:
        """See `ForgeStage`."""
        return self.world.git.push(repository_id, branch, {path: path.encode()}, by=self._staff)

    def open_pull(self, repository_id: str, author: Actor, head: str, base: str) -> int:
        """See `ForgeStage`."""
        return self.world.open_pull(repository_id, author, head=head, base=base, title="Mine").number

    def close_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """See `ForgeStage`."""
        self.world.close_pull(repository_id, number, by)

    def merge_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """See `ForgeStage`."""
        self.world.merge_pull(repository_id, number, by)

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
        """See `ForgeStage`."""
        self.world.report_ci(repository_id, sha, name, conclusion, log=log, as_status=as_status)

    def review(self, repository_id: str, number: int, by: Actor, path: str, comments: list[str]) -> None:
        """See `ForgeStage`."""
        first, *others = (Remark(path, 1, body) for body in comments)
        self.world.review(repository_id, number, by, "commented", remarks=[first])
        thread = self.world.threads(repository_id, number)[-1].id
        for other in others:
            remark = Remark(path, 1, other.body, thread)
            self.world.review(repository_id, number, by, "commented", remarks=[remark])


class FaultyLocalStage(LocalStage):
    """The same, seen through a client that fails on demand."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._faulty = FaultyForge(LocalForge(root))

    def forge(self) -> Forge:
        """See `ForgeStage`."""
        return self._faulty

    def forge_factory(self) -> Callable[[], Forge]:
        """See `ForgeStage`."""
        pytest.skip("faults are counted within one process")

    def fail(self, method: str, *, times: int, acted: bool) -> None:
        """See `ForgeStage`."""
        self._faulty.inject(Fault(method=method, times=times, acted=acted))
