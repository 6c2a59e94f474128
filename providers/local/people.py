"""The people's side of an embedded forge: all that somebody would click, typed or pushed.

Permissions are not checked here: people who drive a demo or a test may also do what a forge would not let
them do. What they may do is still on record (`grant`), and that is what the service goes by.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from domain.errors import ForgeError
from domain.model import Actor, Comment, Issue, IssueRef, Permission, Pull, Repository
from domain.ports import ReviewThread
from providers.local import checks, issues, limits, payloads, pulls, reviews, rows
from providers.local.bare import files_below
from providers.local.ground import BOT, FORGE_NAME, Ground
from providers.local.objects import Content, Signature
from providers.local.outbox import HookDelivery, Outbox, WebhookTarget
from providers.local.pushes import Pushes
from providers.local.reviews import Remark
from providers.local.webhook_faults import WebhookFaults


class LocalWorld:
    """An embedded forge with people in it. Every act sends the webhook that a real forge would send."""

    def __init__(
        self, root: Path, webhook: WebhookTarget | None = None, faults: WebhookFaults | None = None
    ) -> None:
        """Open the forge in `root`, and make it when it is new. Raises ConfigurationError."""
        self.root = root
        self.bot = BOT
        self.ground = Ground(root, webhook, faults)
        self.git = Pushes(self.ground)
        self.hooks: Outbox = self.ground.outbox

    # -- users and repositories ---------------------------------------------------------------------

    def create_user(self, login: str, *, is_bot: bool = False) -> Actor:
        """Register somebody. Raises ForgeError when the login is taken."""
        with self.ground.write() as tx:
            try:
                cursor = tx.run("INSERT INTO users (login, is_bot) VALUES (?, ?)", login, is_bot)
            except sqlite3.IntegrityError:
                raise ForgeError(f"the login {login!r} is taken") from None
        return Actor(id=str(cursor.lastrowid), login=login, is_bot=is_bot)

    def rename_user(self, user: Actor, login: str) -> Actor:
        """Give somebody another login; the id stays. Raises ForgeError when the login is taken."""
        with self.ground.write() as tx:
            try:
                tx.run("UPDATE users SET login = ? WHERE id = ?", login, int(user.id))
            except sqlite3.IntegrityError:
                raise ForgeError(f"the login {login!r} is taken") from None
            return rows.actor(tx, int(user.id))

    def delete_user(self, user: Actor) -> None:
        """Remove an account: what it wrote stays, by a ghost, and its login is free again."""
        with self.ground.write() as tx:
            tx.run("UPDATE users SET deleted = 1 WHERE id = ?", int(user.id))

    def create_repository(
        self,
        full_name: str,
        *,
        default_branch: str = "main",
        private: bool = False,
        files: Mapping[str, Content | None] | Path | None = None,
    ) -> Repository:
        """Make a repository in which the bot may write: empty, or with `files` as its first commit.

        Nothing is announced: hooks come after. Raises ForgeError.
        """
        with self.ground.write() as tx:
            try:
                cursor = tx.run(
                    "INSERT INTO repositories (full_name, default_branch, private) VALUES (?, ?, ?)",
                    limits.full_name(full_name),
                    default_branch,
                    private,
                )
            except sqlite3.IntegrityError:
                raise ForgeError(f"there is a repository {full_name!r} already") from None
            tx.run("INSERT INTO permissions VALUES (?, ?, 'write')", cursor.lastrowid, int(self.bot.id))
            git = tx.git(full_name)
            git.create(default_branch)
            if files is not None:
                owner = Actor(id="0", login=full_name.split("/")[0])
                seed = files_below(files) if isinstance(files, Path) else files
                git.commit(default_branch, seed, Signature(author=owner, message="First commit"))
            return rows.repository(rows.repository_row(tx, str(cursor.lastrowid)))

    def grant(self, repository_id: str, user: Actor, permission: Permission) -> None:
        """Set what somebody may do in a repository from now on. Raises NotFound."""
        with self.ground.write() as tx:
            tx.run(
                "INSERT OR REPLACE INTO permissions VALUES (?, ?, ?)",
                rows.repository_row(tx, repository_id)["id"],
                int(user.id),
                permission.value,
            )

    def rename_repository(self, repository_id: str, full_name: str, *, by: Actor) -> None:
        """Give a repository another name; its id stays. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            row = rows.repository_row(tx, repository_id)
            try:
                tx.run(
                    "UPDATE repositories SET full_name = ? WHERE id = ?",
                    limits.full_name(full_name),
                    row["id"],
                )
            except sqlite3.IntegrityError:
                raise ForgeError(f"there is a repository {full_name!r} already") from None
            tx.git(row["full_name"]).move_to(tx.git(full_name).path)
            payloads.about_new_name(tx, row["id"], row["full_name"], by)

    def archive(self, repository_id: str) -> None:
        """Make a repository read-only. Raises NotFound."""
        self._set_repository(repository_id, "archived", 1)

    def set_private(self, repository_id: str, private: bool) -> None:
        """Hide a repository from strangers, or show it. Raises NotFound."""
        self._set_repository(repository_id, "private", int(private))

    def set_default_branch(self, repository_id: str, branch: str) -> None:
        """Make another branch the default one. Raises NotFound, ForgeError."""
        self._set_repository(repository_id, "default_branch", branch)
        with self.ground.read() as tx:
            tx.git(rows.repository_row(tx, repository_id)["full_name"]).set_head(branch)

    def repositories(self) -> list[Repository]:
        """Return every repository, oldest first."""
        with self.ground.read() as tx:
            return [rows.repository(row) for row in tx.all("SELECT * FROM repositories ORDER BY id")]

    # -- issues -------------------------------------------------------------------------------------

    def open_issue(
        self,
        repository_id: str,
        by: Actor,
        *,
        title: str,
        body: str | None = None,
        labels: Sequence[str] = (),
    ) -> IssueRef:
        """Open an issue; labels come as an event each, after the opening. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            issue_id, number = issues.insert_issue(tx, repository_id, by, title=title, body=body)
            payloads.about_issue(tx, "opened", issue_id, by)
            issues.put_labels(tx, issue_id, by, labels)
        return IssueRef(forge=FORGE_NAME, repository_id=repository_id, number=number)

    def edit_issue(
        self, issue: IssueRef, by: Actor, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Change the title or body of an issue or pull request. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            issues.edit(tx, rows.issue_row(tx, issue)["id"], by, title=title, body=body)

    def label(self, issue: IssueRef, by: Actor, *names: str) -> None:
        """Put labels on. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            issues.put_labels(tx, rows.issue_row(tx, issue)["id"], by, names)

    def unlabel(self, issue: IssueRef, by: Actor, name: str) -> None:
        """Take a label off. Raises NotFound."""
        with self.ground.write() as tx:
            issues.take_label(tx, rows.issue_row(tx, issue)["id"], by, name)

    def close_issue(self, issue: IssueRef, by: Actor) -> None:
        """Close an issue. Raises NotFound."""
        with self.ground.write() as tx:
            issues.set_state(tx, rows.issue_row(tx, issue)["id"], by, is_open=False)

    def reopen_issue(self, issue: IssueRef, by: Actor) -> None:
        """Open a closed issue again. Raises NotFound."""
        with self.ground.write() as tx:
            issues.set_state(tx, rows.issue_row(tx, issue)["id"], by, is_open=True)

    def delete_issue(self, issue: IssueRef, by: Actor) -> None:
        """Delete an issue with its comments; its number is not given again. Raises NotFound."""
        with self.ground.write() as tx:
            issue_id = rows.issue_row(tx, issue)["id"]
            payloads.about_issue(tx, "deleted", issue_id, by)
            tx.run("DELETE FROM issues WHERE id = ?", issue_id)

    def lock_issue(self, issue: IssueRef, by: Actor) -> None:
        """Lock an issue's conversation. Raises NotFound."""
        with self.ground.write() as tx:
            issue_id = rows.issue_row(tx, issue)["id"]
            tx.run("UPDATE issues SET locked = 1 WHERE id = ?", issue_id)
            payloads.about_issue(tx, "locked", issue_id, by)

    def assign(self, issue: IssueRef, by: Actor, assignee: Actor) -> None:
        """Make somebody responsible for an issue. Raises NotFound."""
        with self.ground.write() as tx:
            issue_id = rows.issue_row(tx, issue)["id"]
            tx.run("INSERT OR IGNORE INTO assignees VALUES (?, ?)", issue_id, int(assignee.id))
            payloads.about_issue(tx, "assigned", issue_id, by, assignee=payloads.user(assignee))

    def issues(self, repository_id: str) -> list[Issue]:
        """Return a repository's issues, pull requests left out, oldest first."""
        with self.ground.read() as tx:
            found = tx.all(
                "SELECT * FROM issues WHERE repository_id = ? AND id NOT IN (SELECT issue_id FROM pulls)"
                " ORDER BY number",
                rows.number_of(repository_id),
            )
            return [rows.issue(tx, row) for row in found]

    # -- comments -----------------------------------------------------------------------------------

    def comment(self, issue: IssueRef, by: Actor, body: str) -> Comment:
        """Write a comment on an issue or pull request. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            return rows.comment(tx, issues.write_comment(tx, issue, by, body))

    def edit_comment(self, comment_id: str, by: Actor, body: str) -> Comment:
        """Change a comment, also somebody else's. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            row = issues.rewrite_comment(tx, issues.comment_row(tx, comment_id), by, body)
            return rows.comment(tx, row)

    def delete_comment(self, comment_id: str, by: Actor) -> None:
        """Delete a comment, also somebody else's. Raises NotFound."""
        with self.ground.write() as tx:
            issues.remove_comment(tx, issues.comment_row(tx, comment_id), by)

    def comments(self, issue: IssueRef) -> list[Comment]:
        """Return the comments of an issue or pull request, oldest first. Raises NotFound."""
        with self.ground.read() as tx:
            return [rows.comment(tx, row) for row in rows.comment_rows(tx, rows.issue_row(tx, issue)["id"])]

    def reactions(self, comment_id: str) -> list[tuple[Actor, str]]:
        """Return who reacted to a comment, and how."""
        with self.ground.read() as tx:
            comment = issues.comment_row(tx, comment_id)
            return [(each.actor, each.content) for each in issues.reactions(tx, comment)]

    def react(self, comment_id: str, by: Actor, reaction: str) -> None:
        """Let somebody put a reaction on a comment. Raises NotFound."""
        with self.ground.write() as tx:
            issues.react(tx, issues.comment_row(tx, comment_id), by, reaction)

    def unreact(self, comment_id: str, by: Actor, reaction: str) -> None:
        """Let somebody take a reaction back. Raises NotFound."""
        with self.ground.write() as tx:
            issues.unreact(tx, issues.comment_row(tx, comment_id), by, reaction)

    # -- pull requests ------------------------------------------------------------------------------

    def open_pull(
        self,
        repository_id: str,
        by: Actor,
        *,
        head: str,
        base: str,
        title: str,
        body: str = "",
    ) -> Pull:
        """Open a pull request. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            row = pulls.insert_pull(
                tx, repository_id, by, text=(title, body), branches=(head, base), draft=False
            )
            return rows.pull(tx, row)

    def mark_ready(self, repository_id: str, number: int, by: Actor) -> None:
        """Take a pull request out of draft. Raises NotFound."""
        with self.ground.write() as tx:
            pulls.set_ready(tx, rows.pull_row(tx, repository_id, number), by)

    def merge_pull(self, repository_id: str, number: int, by: Actor) -> str:
        """Mark a pull request ready, merge it, and return the base's new sha. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            row = rows.pull_row(tx, repository_id, number)
            if row["state"] == "open":
                pulls.set_ready(tx, row, by)
            return pulls.merge(tx, rows.pull_row(tx, repository_id, number), by)

    def close_pull(self, repository_id: str, number: int, by: Actor) -> None:
        """Close a pull request without merging it. Raises NotFound, ForgeError."""
        with self.ground.write() as tx:
            pulls.close(tx, rows.pull_row(tx, repository_id, number), by)

    def pulls(self, repository_id: str) -> list[Pull]:
        """Return a repository's pull requests, open ones first, then the newest first."""
        with self.ground.read() as tx:
            return [rows.pull(tx, row) for row in rows.pull_rows(tx, repository_id)]

    def pull_diff(self, repository_id: str, number: int) -> str:
        """Return what a pull request changes, as a unified diff. Raises NotFound."""
        with self.ground.read() as tx:
            return pulls.diff(tx, rows.pull_row(tx, repository_id, number))

    # -- deliveries ---------------------------------------------------------------------------------

    def deliveries(self) -> list[HookDelivery]:
        """Return every webhook on record, oldest first."""
        return self.hooks.deliveries()

    def redeliver(self, guid: str) -> HookDelivery:
        """Send a webhook again: the same GUID, the same bytes. Raises NotFound."""
        return self.hooks.redeliver(guid)

    # -- continuous integration ---------------------------------------------------------------------

    def report_ci(
        self,
        repository_id: str,
        sha: str,
        name: str,
        conclusion: str,
        *,
        log: str = "",
        as_status: bool = False,
    ) -> None:
        """Let a job say how it ended on a commit, "" while it runs; a status has no log."""
        with self.ground.write() as tx:
            job = checks.job_of(name, conclusion, job_id="" if as_status else "new")
            checks.report(tx, repository_id, sha, job, log)

    def reruns(self, repository_id: str, sha: str) -> dict[str, int]:
        """Return how often each job of a commit was asked to run again."""
        with self.ground.read() as tx:
            return checks.reruns(tx, repository_id, sha)

    # -- reviews ------------------------------------------------------------------------------------

    def review(
        self,
        repository_id: str,
        number: int,
        by: Actor,
        state: str,
        body: str = "",
        remarks: Sequence[Remark] = (),
    ) -> str:
        """Review a pull request: approved, changes_requested or commented; returns the review's id."""
        with self.ground.write() as tx:
            return reviews.give(tx, rows.pull_row(tx, repository_id, number), by, state, body, remarks)

    def mark_thread(self, thread_id: str, *, resolved: bool = False, outdated: bool = False) -> None:
        """Resolve a thread, or say that its lines are not there any more."""
        with self.ground.write() as tx:
            reviews.mark(tx, thread_id, resolved=resolved, outdated=outdated)

    def threads(self, repository_id: str, number: int) -> tuple[ReviewThread, ...]:
        """Return every thread of a pull request. Raises NotFound."""
        with self.ground.read() as tx:
            return reviews.threads(tx, repository_id, number)

    def requested_reviewers(self, repository_id: str, number: int) -> list[Actor]:
        """Return who is asked for a review and has given none since. Raises NotFound."""
        with self.ground.read() as tx:
            return reviews.requested(tx, rows.pull_row(tx, repository_id, number))

    def _set_repository(self, repository_id: str, column: str, value: str | int) -> None:
        with self.ground.write() as tx:
            repository = rows.repository_row(tx, repository_id)
            tx.run(f"UPDATE repositories SET {column} = ? WHERE id = ?", value, repository["id"])
