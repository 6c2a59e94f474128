"""The world of the tests set up for the contract suite of the Forge port."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, GITHUB_HOOKS, OWNER, Fault, GithubState, app_key
from domain.model import Actor, IssueRef, Permission
from domain.ports import Forge
from providers.conformance import ForgeStage, Hearing
from providers.github.calls import Patience
from providers.github.forge import GithubForge
from providers.github.plugin import GithubProvider
from providers.local.stage import SECRET, delivered
from tests.providers.github.contract import check_delivery, judge

HASTE = Patience(tries=1, longest_wait=0.0)
"""No second try and no waiting: what fails is seen at once."""

NAME = "github"

DECISIVE = {
    "repository": ("GET", r"/repos/[^/]+/[^/]+"),
    "repository_named": ("GET", r"/repos/[^/]+/[^/]+"),
    "labelled_issues": ("GET", r".*/issues"),
    "label_changes": ("GET", r".*/issues/\d+/events"),
    "issue": ("GET", r".*/issues/\d+"),
    "comments": ("GET", r".*/issues/\d+/comments"),
    "permission_of": ("GET", r".*/collaborators/.*|/user/\d+"),
    "clone_access": ("POST", r"/app/installations/\d+/access_tokens"),
    "revoke_access": ("DELETE", r"/installation/token"),
    "find_pull": ("GET", r".*/pulls"),
    "ensure_pull": ("POST", r".*/pulls"),
    "ensure_comment": ("POST", r".*/issues/\d+/comments"),
    "add_comment": ("POST", r".*/issues/\d+/comments"),
}
"""The request that each method of the port cannot do without."""


def connect(url: str, key: str, served: tuple[str, ...]) -> Forge:
    """Make a client in whatever process this is."""
    return GithubForge(
        app_id=str(APP_ID), private_key=key, api_url=url, served=frozenset(served), patience=HASTE
    )


def judge_webhooks(state: GithubState) -> None:
    """Hold one webhook of each kind that was recorded against GitHub's own description."""
    kinds = {(hook.event, hook.action): hook for hook in state.local.deliveries()}
    for hook in kinds.values():
        check_delivery(hook.event, json.loads(hook.payload))


class GithubStage(ForgeStage):
    """A GitHub on loopback with the App installed in one account."""

    def __init__(self, root: Path) -> None:
        self.state = GithubState(root)
        self.state.install(OWNER)
        self.server = GithubServer(self.state, judge)
        self._staff = self.state.local.create_user("stagehand")
        self._names: set[str] = set()
        self._forges: list[GithubForge] = []

    def close(self) -> None:
        """Stop serving, and complain of whatever GitHub would not have said or taken."""
        self.server.close()
        assert not self.state.broken, self.state.broken[:5]
        judge_webhooks(self.state)

    def client(self, patience: Patience = HASTE) -> GithubForge:
        """Return the bot's client as what it is."""
        made = GithubForge(
            app_id=str(APP_ID),
            private_key=app_key(),
            api_url=self.server.url,
            served=self._names,
            patience=patience,
        )
        self._forges.append(made)
        return made

    def forge(self) -> Forge:
        """See `ForgeStage`."""
        return self.client()

    def forge_factory(self) -> Callable[[], Forge]:
        """See `ForgeStage`."""
        return partial(connect, self.server.url, app_key(), tuple(self._names))

    def fail(self, method: str, *, times: int, acted: bool) -> None:
        """See `ForgeStage`."""
        for forge in self._forges:  # where things are is known; what is to fail is the method's own request
            for name in self._names:
                forge.repository_named(name)
        verb, path = DECISIVE[method]
        self.state.faults.append(Fault(verb, path, times=times, acted=acted))

    def repository(self, *, default_branch: str = "main", private: bool = False, empty: bool = False) -> str:
        """See `ForgeStage`."""
        name = f"{OWNER}/widgets-{len(self._names) + 1}"
        self._names.add(name)
        return self.state.local.create_repository(
            name,
            default_branch=default_branch,
            private=private,
            files=None if empty else {"README.md": b"# Widgets\n"},
        ).id

    def garble(self, method: str) -> None:
        """See `ForgeStage`."""
        verb, path = DECISIVE[method]
        self.state.faults.append(Fault(verb, path, status=200, body=b"<html>Unicorn!"))

    def refuse_pushes(self, repository_id: str, words: str) -> None:
        """See `ForgeStage`."""
        self.state.local.git.refuse_pushes(repository_id, words)

    def hearing(self) -> Hearing:
        """See `ForgeStage`."""
        return Hearing(
            dialect=GithubProvider().dialect(),
            secret=SECRET.encode(),
            deliveries=partial(delivered, self.state.local, GITHUB_HOOKS),
        )

    def rename_repository(self, repository_id: str, name: str = "") -> None:
        """See `ForgeStage`. The old name leads to it from now on."""
        before = next(r.full_name for r in self.state.local.repositories() if r.id == repository_id)
        name = name or f"{OWNER}/renamed-{repository_id}"
        self._names.add(name)
        self.state.local.rename_repository(repository_id, name, by=self._staff)
        self.state.old_names[before.lower()] = int(repository_id)

    def archive(self, repository_id: str) -> None:
        """See `ForgeStage`."""
        self.state.local.archive(repository_id)

    def restrict_bot(self, repository_id: str) -> None:
        """See `ForgeStage`."""
        permissions = self.state.installations[OWNER].permissions
        permissions.update(dict.fromkeys(permissions, "read"))

    def person(self, login: str) -> Actor:
        """See `ForgeStage`."""
        return self.state.local.create_user(login)

    def rename(self, person: Actor, login: str) -> Actor:
        """See `ForgeStage`."""
        return self.state.local.rename_user(person, login)

    def delete_person(self, person: Actor) -> None:
        """See `ForgeStage`."""
        self.state.local.delete_user(person)

    def grant(self, repository_id: str, person: Actor, permission: Permission) -> None:
        """See `ForgeStage`."""
        self.state.local.grant(repository_id, person, permission)

    def open_issue(
        self, repository_id: str, author: Actor, title: str, body: str | None, labels: tuple[str, ...] = ()
    ) -> IssueRef:
        """See `ForgeStage`."""
        made = self.state.local.open_issue(repository_id, author, title=title, body=body, labels=labels)
        return IssueRef(forge=NAME, repository_id=repository_id, number=made.number)

    def label(self, issue: IssueRef, by: Actor, name: str) -> None:
        """See `ForgeStage`."""
        self.state.local.label(issue, by, name)

    def unlabel(self, issue: IssueRef, by: Actor, name: str) -> None:
        """See `ForgeStage`."""
        self.state.local.unlabel(issue, by, name)

    def close_issue(self, issue: IssueRef, by: Actor) -> None:
        """See `ForgeStage`."""
        self.state.local.close_issue(issue, by)

    def comment(self, issue: IssueRef, author: Actor, body: str) -> str:
        """See `ForgeStage`."""
        return self.state.local.comment(issue, author, body).id

    def edit_comment(self, issue: IssueRef, comment_id: str, by: Actor, body: str) -> None:
        """See `ForgeStage`."""
        self.state.local.edit_comment(comment_id, by, body)

    def delete_comment(self, issue: IssueRef, comment_id: str, by: Actor) -> None:
        """See `ForgeStage`."""
        self.state.local.delete_comment(comment_id, by)

    def reactions(self, issue: IssueRef, comment_id: str) -> list[tuple[Actor, str]]:
        """See `ForgeStage`."""
        return self.state.local.reactions(comment_id)

    def react(self, issue: IssueRef, comment_id: str, by: Actor, reaction: str) -> None:
        """See `ForgeStage`."""
        self.state.local.react(comment_id, by, reaction)

    def push(self, repository_id: str, branch: str, path: str) -> str:
        """See `ForgeStage`."""
        return self.state.local.git.push(repository_id, branch, {path: path.encode()}, by=self._staff)

    def open_pull(self, repository_id: str, author: Actor, head: str, base: str) -> int:
        """See `ForgeStage`."""
        return self.state.local.open_pull(repository_id, author, head=head, base=base, title="Mine").number

    def close_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """See `ForgeStage`."""
        self.state.local.close_pull(repository_id, number, by)

    def merge_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """See `ForgeStage`."""
        self.state.local.merge_pull(repository_id, number, by)

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
        number = self.state.next_id()
        if as_status:
            shown = {"id": number, "sha": sha, "context": name, "state": conclusion or "pending"}
            self.state.statuses.append({**shown, "target_url": None, "description": None})
            return
        run = {"id": number, "head_sha": sha, "name": name, "conclusion": conclusion or None}
        run |= {"status": "completed" if conclusion else "in_progress", "external_id": ""}
        self.state.checks.append({**run, "app": {"id": 15368, "slug": "github-actions"}})
        if log:
            self.state.logs[number] = log.encode()

    def review(self, repository_id: str, number: int, by: Actor, path: str, comments: list[str]) -> None:
        """See `ForgeStage`."""
        author = {"__typename": "User", "login": by.login, "databaseId": int(by.id)}
        nodes = [
            {
                "databaseId": self.state.next_id(),
                "body": body,
                "createdAt": "2026-01-01T00:00:00Z",
                "url": "https://github.example/x",
                "author": author,
            }
            for body in comments
        ]
        thread = {"id": f"T{self.state.next_id()}", "isResolved": False, "isOutdated": False}
        thread |= {"path": path, "line": 1, "comments": nodes}
        self.state.threads.setdefault(number, []).append(thread)

    def miss_delivery(self) -> str:
        """See `ForgeStage`."""
        number = self.state.next_id()
        guid = f"72d3162e-cc78-11e3-81ab-{number:012d}"
        at = datetime.fromtimestamp(self.state.now(), UTC)
        self.state.deliveries.append(
            {
                "id": number,
                "guid": guid,
                "delivered_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
                "redelivery": False,
                "duration": 10.0,
                "status": "timed out",
                "status_code": 504,
                "event": "issues",
                "action": "labeled",
                "installation_id": 1,
                "repository_id": 1,
            }
        )
        return guid
