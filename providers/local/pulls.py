"""Changes to pull requests of the embedded forge; each announces itself in the same transaction."""

from __future__ import annotations

import re
import sqlite3

from domain.errors import ForgeError
from domain.model import Actor, IssueRef
from providers.local import issues, payloads, rows
from providers.local.bare import BareRepository
from providers.local.ground import FORGE_NAME, Transaction
from providers.local.objects import Signature

NO_BRANCH = "0" * 40
"""Stands for a branch that is not there, in push announcements."""

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)


def insert_pull(
    tx: Transaction,
    repository_id: str,
    author: Actor,
    *,
    text: tuple[str, str],
    branches: tuple[str, str],
    draft: bool,
) -> sqlite3.Row:
    """Open a pull request with a (title, body) from a (head, base) and return its joined row.

    Raises NotFound, and ForgeError where a real forge would answer 422.
    """
    repository = rows.repository_row(tx, repository_id)
    _require_none_open(tx, repository_id, *branches)
    head_sha, fork_sha = _ends(tx.git(repository["full_name"]), repository["full_name"], *branches)
    issue_id, number = issues.insert_issue(tx, repository_id, author, title=text[0], body=text[1])
    tx.run(
        "INSERT INTO pulls (issue_id, head_branch, base_branch, head_sha, fork_sha, draft)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        issue_id,
        *branches,
        head_sha,
        fork_sha,
        draft,
    )
    payloads.about_issue(tx, "opened", issue_id, author)
    return rows.pull_row(tx, repository_id, number)


def set_base(tx: Transaction, row: sqlite3.Row, sender: Actor, base_branch: str) -> None:
    """Point an open pull request at another base branch. Raises ForgeError when there is none."""
    if row["base_branch"] == base_branch:
        return
    name = rows.repository_row(tx, str(row["repository_id"]))["full_name"]
    _ends(tx.git(name), name, row["head_branch"], base_branch)
    tx.run("UPDATE pulls SET base_branch = ? WHERE issue_id = ?", base_branch, row["issue_id"])
    changes = {"base": {"ref": {"from": row["base_branch"]}}}
    payloads.about_issue(tx, "edited", row["issue_id"], sender, changes=changes)


def set_ready(tx: Transaction, row: sqlite3.Row, sender: Actor) -> None:
    """Turn a draft into a pull request that asks for review."""
    if tx.run("UPDATE pulls SET draft = 0 WHERE issue_id = ? AND draft = 1", row["issue_id"]).rowcount:
        payloads.about_issue(tx, "ready_for_review", row["issue_id"], sender)


def close(tx: Transaction, row: sqlite3.Row, sender: Actor) -> None:
    """Close an open pull request without merging it. Raises ForgeError if it is not open."""
    _require_open(row)
    _freeze(tx, row)
    issues.set_state(tx, row["issue_id"], sender, is_open=False)


def merge(tx: Transaction, row: sqlite3.Row, sender: Actor) -> str:
    """Merge an open pull request and return the base's new sha. Raises ForgeError.

    Issues that its text closes ("Fixes #3") are closed with it when the base is the default branch.
    """
    _require_open(row)
    repository = rows.repository_row(tx, str(row["repository_id"]))
    git = tx.git(repository["full_name"])
    _freeze(tx, row)
    before = git.resolve(row["base_branch"]) or NO_BRANCH
    signature = Signature(author=sender, message=f"Merge pull request #{row['number']}\n\n{row['title']}")
    after = git.merge(row["base_branch"], rows.pull_head(tx, row), signature)
    tx.run("UPDATE pulls SET merge_sha = ?, draft = 0 WHERE issue_id = ?", after, row["issue_id"])
    issues.set_state(tx, row["issue_id"], sender, is_open=False)
    payloads.about_push(tx, repository["id"], row["base_branch"], (before, after), sender)
    if row["base_branch"] == repository["default_branch"]:
        _close_mentioned(tx, row, sender)
    return after


def diff(tx: Transaction, row: sqlite3.Row) -> str:
    """Return what a pull request changes since it left its base, as a unified diff."""
    git = tx.git(rows.repository_row(tx, str(row["repository_id"]))["full_name"])
    fork, head = _live_ends(git, row)
    return git.diff(fork, head)


def after_push(tx: Transaction, repository_id: int, branch: str, sender: Actor) -> None:
    """Tell of the open pull requests whose head a push has moved; close those whose head is gone."""
    git = tx.git(rows.repository_row(tx, str(repository_id))["full_name"])
    for row in rows.pull_rows(tx, str(repository_id), branch):
        if row["state"] != "open":
            continue
        if git.resolve(branch) is None:
            issues.set_state(tx, row["issue_id"], sender, is_open=False)
        else:
            _freeze(tx, row)
            payloads.about_issue(tx, "synchronize", row["issue_id"], sender)


def _require_none_open(tx: Transaction, repository_id: str, head: str, base: str) -> None:
    for row in rows.pull_rows(tx, repository_id, head):
        if row["state"] == "open" and row["base_branch"] == base:
            raise ForgeError(f"pull request #{row['number']} from {head!r} to {base!r} is open already")


def _ends(git: BareRepository, name: str, head: str, base: str) -> tuple[str, str]:
    """Return the head's sha and where it left the base; raise what a real forge would answer 422 to."""
    base_sha, head_sha = git.resolve(base), git.resolve(head)
    if base_sha is None:
        raise ForgeError(f"the base branch {base!r} does not exist in {name}")
    if head_sha is None:
        raise ForgeError(f"the head branch {head!r} does not exist in {name}")
    if not git.has_commits_between(base_sha, head_sha):
        raise ForgeError(f"there are no commits between {base!r} and {head!r} in {name}")
    return head_sha, git.fork_point(base_sha, head_sha)


def _live_ends(git: BareRepository, row: sqlite3.Row) -> tuple[str, str]:
    """Return (fork point, head) from git while the pull request is open, else as last seen."""
    base_sha, head_sha = git.resolve(row["base_branch"]), git.resolve(row["head_branch"])
    if row["state"] != "open" or not base_sha or not head_sha:
        return row["fork_sha"], row["head_sha"]
    return git.fork_point(base_sha, head_sha), head_sha


def _freeze(tx: Transaction, row: sqlite3.Row) -> None:
    """Write down where head and fork point are now; they stay readable when the branches are gone."""
    git = tx.git(rows.repository_row(tx, str(row["repository_id"]))["full_name"])
    fork, head = _live_ends(git, row)
    tx.run("UPDATE pulls SET fork_sha = ?, head_sha = ? WHERE issue_id = ?", fork, head, row["issue_id"])


def _require_open(row: sqlite3.Row) -> None:
    if row["state"] != "open":
        raise ForgeError(f"pull request #{row['number']} is not open")


def _close_mentioned(tx: Transaction, row: sqlite3.Row, sender: Actor) -> None:
    numbers = {int(number) for number in _CLOSES.findall(f"{row['title']}\n{row['body'] or ''}")}
    for number in sorted(numbers):
        ref = IssueRef(forge=FORGE_NAME, repository_id=str(row["repository_id"]), number=number)
        found = tx.one(
            "SELECT id FROM issues WHERE repository_id = ? AND number = ?", row["repository_id"], ref.number
        )
        if found and not rows.is_pull(tx, found["id"]):
            issues.set_state(tx, found["id"], sender, is_open=False)
