"""The Forge port on an embedded forge, for whoever it acts as; in the service that is the bot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from domain.errors import ForgeError, NotFound, PermissionRefused
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
from domain.ports import Capability, CiStatus, LabelChange, Purpose, Reaction, ReviewThread
from providers.local import checks, issues, limits, pulls, reviews, rows
from providers.local.ground import BOT, FORGE_NAME, Ground, Transaction
from providers.local.outbox import WebhookTarget

REACTIONS = frozenset({"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"})

_MAY_WRITE = frozenset({Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN})


class LocalForge:
    """An embedded forge as a client sees it. Several may stand on one directory, in many processes."""

    def __init__(self, root: Path, acting_as: Actor = BOT, webhook: WebhookTarget | None = None) -> None:
        """Open the forge in `root`; `webhook` is told of what is done here. Raises ConfigurationError."""
        self.name = FORGE_NAME
        self.capabilities = frozenset(
            {
                *(Capability.DRAFT_PULLS, Capability.REACTIONS, Capability.LABELS, Capability.FILES),
                Capability.REACTION_LISTS,
                *(Capability.CI, Capability.RERUNS, Capability.PULL_LISTS),
                *(Capability.REVIEWS, Capability.REVIEW_REQUESTS),
            }
        )
        self.identity = acting_as
        self._ground = Ground(root, webhook)

    def repository(self, repository_id: str) -> Repository:
        """Return the repository by its permanent id. Raises NotFound."""
        with self._ground.read() as tx:
            return rows.repository(self._visible(tx, repository_id))

    def repository_named(self, full_name: str) -> Repository:
        """Return the repository that is called so now, in whatever case. Raises NotFound."""
        with self._ground.read() as tx:
            row = tx.one("SELECT id FROM repositories WHERE full_name = ?", full_name)
            if row is None:
                raise NotFound(f"there is no repository {full_name!r}")
            return rows.repository(self._visible(tx, str(row["id"])))

    def labelled_issues(
        self, repository_id: str, labels: Sequence[str], *, changed_since: datetime
    ) -> Iterator[Issue]:
        """Yield open issues that carry one of the labels and changed since, oldest first. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            numbers = rows.labelled_numbers(tx, repository_id, labels, changed_since)
        for number in numbers:
            yield self.issue(IssueRef(forge=self.name, repository_id=repository_id, number=number))

    def label_changes(self, issue: IssueRef) -> tuple[LabelChange, ...]:
        """Return every label put on and taken off, oldest first. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, issue.repository_id)
            rows.issue_row(tx, issue)
            return rows.label_changes(tx, issue)

    def issue(self, issue: IssueRef) -> Issue:
        """Return the issue, or the pull request as an issue, as it stands now. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, issue.repository_id)
            return rows.issue(tx, rows.issue_row(tx, issue))

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """Return every comment, oldest first. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, issue.repository_id)
            found = rows.comment_rows(tx, rows.issue_row(tx, issue)["id"])
            return tuple(rows.comment(tx, row) for row in found)

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """Return what this user (by id, not by name) may do now; NONE for a stranger. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            return rows.permission(tx, repository_id, actor)

    def noreply_address(self, actor: Actor) -> str:
        """Return an address that leads nowhere, of the form that other forges give."""
        return f"{actor.id}+{actor.login}@users.noreply.localhost"

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """Return the bare repository's file url; for no purpose is there a credential. Raises NotFound."""
        with self._ground.read() as tx:
            git = tx.git(self._visible(tx, repository_id)["full_name"])
        return CloneAccess(url=git.path.as_uri(), protocol="file")

    def revoke_access(self, access: CloneAccess) -> None:
        """Do nothing: there was no credential."""

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """Return the newest pull request from this branch, open ones first, or None. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            found = rows.pull_rows(tx, repository_id, head_branch)
            return rows.pull(tx, found[0]) if found else None

    def open_pulls(self, repository_id: str) -> Iterator[Pull]:
        """Yield the open pull requests, the newest first. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            found = [
                rows.pull(tx, row) for row in rows.pull_rows(tx, repository_id) if row["state"] == "open"
            ]
        yield from found

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """Create the draft pull request, or bring our open one from the same branch to this text.

        Raises PermissionRefused; ForgeError when a base or head is missing, when there are no commits
        between them, when the text is too long, or when somebody else's pull request is open there.
        """
        text = (limits.title(proposal.title), limits.body(_with_marker(proposal.body, proposal.marker)))
        with self._ground.write() as tx:
            self._writable(tx, repository_id, "pull requests")
            row = self._own_open_pull(tx, repository_id, proposal.head_branch)
            if row is None:
                row = pulls.insert_pull(
                    tx,
                    repository_id,
                    self.identity,
                    text=text,
                    branches=(proposal.head_branch, proposal.base_branch),
                    draft=True,
                )
            else:
                pulls.set_base(tx, row, self.identity, proposal.base_branch)
                issues.edit(tx, row["issue_id"], self.identity, title=text[0], body=text[1])
            issues.put_labels(tx, row["issue_id"], self.identity, proposal.labels)
            return rows.pull(tx, rows.pull_row(tx, repository_id, row["number"]))

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """Write our comment on this topic, or rewrite it: never a second one.

        Raises PermissionRefused, NotFound; ForgeError when the text is too long.
        """
        marked = limits.body(_with_marker(body, f"<!-- fixwright:{limits.topic(topic)} -->"))
        with self._ground.write() as tx:
            self._writable(tx, issue.repository_id, "comments")
            row = self._own_comment(tx, issue, f"<!-- fixwright:{topic} -->")
            if row is None:
                row = issues.write_comment(tx, issue, self.identity, marked)
            else:
                row = issues.rewrite_comment(tx, row, self.identity, marked)
            return rows.comment(tx, row)

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """Write a comment once per `key`; with the same key again, return the one already there.

        Raises PermissionRefused, NotFound; ForgeError when the text is too long.
        """
        marker = f"<!-- fixwright-once:{limits.topic(key)} -->"
        marked = limits.body(_with_marker(body, marker))
        with self._ground.write() as tx:
            self._writable(tx, issue.repository_id, "comments")
            row = self._own_comment(tx, issue, marker)
            return rows.comment(tx, row or issues.write_comment(tx, issue, self.identity, marked))

    def react(self, issue: IssueRef, comment_id: str, reaction: str) -> None:
        """Put a reaction on a comment, once. Raises PermissionRefused, NotFound, ForgeError."""
        if reaction not in REACTIONS:
            raise ForgeError(f"{reaction!r} is not a reaction; there are {', '.join(sorted(REACTIONS))}")
        with self._ground.write() as tx:
            self._writable(tx, issue.repository_id, "reactions")
            comment = issues.comment_row(tx, comment_id)
            if comment["issue_id"] != rows.issue_row(tx, issue)["id"]:
                raise NotFound(f"the comment {comment_id} is not on issue #{issue.number}")
            issues.react(tx, comment, self.identity, reaction)

    def reactions(self, issue: IssueRef, comment_id: str) -> tuple[Reaction, ...]:
        """Return every reaction to a comment. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, issue.repository_id)
            comment = issues.comment_row(tx, comment_id)
            if comment["issue_id"] != rows.issue_row(tx, issue)["id"]:
                raise NotFound(f"the comment {comment_id} is not on issue #{issue.number}")
            return issues.reactions(tx, comment)

    def add_labels(self, issue: IssueRef, labels: Sequence[str]) -> None:
        """Put labels on. Raises PermissionRefused, NotFound, ForgeError."""
        with self._ground.write() as tx:
            self._writable(tx, issue.repository_id, "labels")
            issues.put_labels(tx, rows.issue_row(tx, issue)["id"], self.identity, labels)

    def remove_label(self, issue: IssueRef, label: str) -> None:
        """Take a label off, if it is on. Raises PermissionRefused, NotFound."""
        with self._ground.write() as tx:
            self._writable(tx, issue.repository_id, "labels")
            row = rows.issue_row(tx, issue)
            for name in rows.labels(tx, row["id"]):
                if name.lower() == label.lower():
                    issues.take_label(tx, row["id"], self.identity, name)

    def file_at(self, repository_id: str, ref: str, path: str) -> bytes | None:
        """Return a file's bytes at a branch or commit, or None where there is none. Raises NotFound."""
        with self._ground.read() as tx:
            git = tx.git(self._visible(tx, repository_id)["full_name"])
        try:
            return git.read_file(git.resolve(ref) or ref, path)
        except NotFound:
            return None

    def ci_status(self, repository_id: str, sha: str) -> CiStatus:
        """Return what was said of a commit. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            return checks.status(tx, repository_id, sha)

    def job_log_tail(self, repository_id: str, job_id: str, *, most_bytes: int = 32_768) -> str:
        """Return the end of a job's log, whole lines. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            return checks.log_tail(tx, repository_id, job_id, most_bytes)

    def rerun_job(self, repository_id: str, job_id: str) -> None:
        """Let a job run once more. Raises PermissionRefused, NotFound, ForgeError."""
        with self._ground.write() as tx:
            self._writable(tx, repository_id, "jobs")
            checks.rerun(tx, repository_id, job_id)

    def review_threads(self, repository_id: str, pull_number: int) -> tuple[ReviewThread, ...]:
        """Return every thread of a pull request's reviews. Raises NotFound."""
        with self._ground.read() as tx:
            self._visible(tx, repository_id)
            return reviews.threads(tx, repository_id, pull_number)

    def reply(self, repository_id: str, pull_number: int, thread: ReviewThread, key: str, body: str) -> str:
        """Answer in a thread once per key. Raises PermissionRefused, NotFound, ForgeError."""
        marker = f"<!-- fixwright-once:{limits.topic(key)} -->"
        with self._ground.write() as tx:
            self._writable(tx, repository_id, "replies")
            pull = rows.pull_row(tx, repository_id, pull_number)
            return reviews.reply(tx, pull, thread.id, self.identity, marker, body)

    def request_review(self, repository_id: str, pull_number: int, reviewer: Actor) -> None:
        """Ask somebody for a review. Raises PermissionRefused, NotFound, ForgeError."""
        with self._ground.write() as tx:
            self._writable(tx, repository_id, "review requests")
            reviews.request(tx, rows.pull_row(tx, repository_id, pull_number), reviewer)

    def _visible(self, tx: Transaction, repository_id: str) -> sqlite3.Row:
        """Return the repository if we may see it; a hidden one is as good as none."""
        row = rows.repository_row(tx, repository_id)
        if row["private"] and rows.permission(tx, repository_id, self.identity) is Permission.NONE:
            raise NotFound(f"there is no repository with the id {repository_id!r}")
        return row

    def _writable(self, tx: Transaction, repository_id: str, what: str) -> None:
        row = self._visible(tx, repository_id)
        held = rows.permission(tx, repository_id, self.identity)
        if held not in _MAY_WRITE:
            raise PermissionRefused(
                f"{self.identity.login} may not write {what} in {row['full_name']}: "
                f"it has the permission {held.value!r} and needs 'write'"
            )
        if row["archived"]:
            raise PermissionRefused(f"{row['full_name']} is archived and takes no {what}")

    def _own_comment(self, tx: Transaction, issue: IssueRef, marker: str) -> sqlite3.Row | None:
        """Return our oldest comment that ends in this marker; the same text by somebody else is not ours."""
        for row in rows.comment_rows(tx, rows.issue_row(tx, issue)["id"]):
            if str(row["author_id"]) == self.identity.id and row["body"].rstrip().endswith(marker):
                return row
        return None

    def _own_open_pull(self, tx: Transaction, repository_id: str, head_branch: str) -> sqlite3.Row | None:
        """Return our open pull request from a branch; raise ForgeError if only others' are open there."""
        opened = [row for row in rows.pull_rows(tx, repository_id, head_branch) if row["state"] == "open"]
        for row in opened:
            if str(row["author_id"]) == self.identity.id:
                return row
        if opened:
            other = rows.pull(tx, opened[0])
            login = other.author.login if other.author else "somebody"
            raise ForgeError(f"{head_branch!r} already has a pull request by {login}: {other.url}")
        return None


def _with_marker(body: str, marker: str) -> str:
    """Put a hidden marker at the end of a text, unless it ends so already."""
    hidden = marker if marker.startswith("<!--") else f"<!-- fixwright:{limits.topic(marker)} -->"
    text = body.rstrip()
    if text.endswith(hidden):
        return text
    return f"{text}\n\n{hidden}" if text else hidden
