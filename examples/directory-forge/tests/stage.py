"""A directory forge as the contract suite wants it: people who act, fresh for each check."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from directory_forge.forge import DirectoryForge
from directory_forge.people import People
from directory_forge.records import BOT_ID

from domain.model import Actor, IssueRef, Permission
from domain.ports import Forge
from providers.conformance import ForgeStage


class DirectoryStage(ForgeStage):
    """Every method says in the suite what it is for."""

    def __init__(self, root: Path) -> None:
        self.people = People(root)
        self._made = 0

    def forge(self) -> Forge:
        return DirectoryForge(self.people.root)

    def forge_factory(self) -> Callable[[], Forge]:
        return partial(DirectoryForge, self.people.root)

    def repository(self, *, default_branch: str = "main", private: bool = False, empty: bool = False) -> str:
        self._made += 1
        name = f"acme/shop-{self._made}"
        return self.people.repository(name, branch=default_branch, private=private, empty=empty)

    def rename_repository(self, repository_id: str) -> None:
        self.people.rename(repository_id, f"acme/renamed-{repository_id}")

    def archive(self, repository_id: str) -> None:
        self.people.archive(repository_id)

    def restrict_bot(self, repository_id: str) -> None:
        self.people.grant(repository_id, BOT_ID, Permission.READ)

    def person(self, login: str) -> Actor:
        return self.people.person(login)

    def rename(self, person: Actor, login: str) -> Actor:
        return self.people.change_person(person, login=login)

    def delete_person(self, person: Actor) -> None:
        self.people.change_person(person, gone=True)

    def grant(self, repository_id: str, person: Actor, permission: Permission) -> None:
        self.people.grant(repository_id, person.id, permission)

    def open_issue(
        self, repository_id: str, author: Actor, title: str, body: str | None, labels: tuple[str, ...] = ()
    ) -> IssueRef:
        issue = self.people.open_issue(repository_id, author, title, body or "")
        for name in labels:
            self.label(issue, author, name)
        return issue

    def label(self, issue: IssueRef, by: Actor, name: str) -> None:
        self.people.set_label(issue, by, name, added=True)

    def unlabel(self, issue: IssueRef, by: Actor, name: str) -> None:
        self.people.set_label(issue, by, name, added=False)

    def close_issue(self, issue: IssueRef, by: Actor) -> None:
        self.people.close(issue.repository_id, issue.number)

    def comment(self, issue: IssueRef, author: Actor, body: str) -> str:
        return self.people.comment(issue, author, body)

    def edit_comment(self, issue: IssueRef, comment_id: str, by: Actor, body: str) -> None:
        self.people.edit_comment(issue, comment_id, body)

    def delete_comment(self, issue: IssueRef, comment_id: str, by: Actor) -> None:
        self.people.edit_comment(issue, comment_id, None)

    def push(self, repository_id: str, branch: str, path: str) -> str:
        return self.people.push(repository_id, branch, path)

    def open_pull(self, repository_id: str, author: Actor, head: str, base: str) -> int:
        return self.people.open_pull(repository_id, author, head, base)

    def close_pull(self, repository_id: str, number: int, by: Actor) -> None:
        self.people.close(repository_id, number)

    def merge_pull(self, repository_id: str, number: int, by: Actor) -> None:
        self.people.close(repository_id, number, merged=True)
