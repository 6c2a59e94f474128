"""Reads rows of the embedded forge into the product's nouns. Changes nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from domain.errors import NotFound
from domain.model import Actor, Comment, Issue, IssueRef, Permission, Pull, Repository
from domain.ports import LabelChange
from providers.local.ground import FORGE_NAME, GHOST, Transaction

_PULL_COLUMNS = (
    "i.*, i.id AS issue_id, p.id AS pull_id, p.head_branch, p.base_branch, p.head_sha, p.fork_sha, p.draft,"
    " p.merge_sha"
)


def number_of(text: str) -> int:
    """Return an id as a number, or -1, which nothing has."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else -1


def actor(tx: Transaction, user_id: int) -> Actor:
    """Return a user; whoever was deleted, or never was, is the ghost."""
    row = tx.one("SELECT * FROM users WHERE id = ? AND deleted = 0", user_id)
    if row is None:
        return GHOST
    return Actor(id=str(row["id"]), login=row["login"], is_bot=bool(row["is_bot"]))


def actor_called(tx: Transaction, login: str) -> Actor | None:
    """Return who has this login now, in whatever case, or None."""
    row = tx.one("SELECT id FROM users WHERE login = ? COLLATE NOCASE AND deleted = 0", login)
    return actor(tx, row["id"]) if row else None


def repository_row(tx: Transaction, repository_id: str) -> sqlite3.Row:
    """Return a repository's row. Raises NotFound."""
    row = tx.one("SELECT * FROM repositories WHERE id = ?", number_of(repository_id))
    if row is None:
        raise NotFound(f"there is no repository with the id {repository_id!r}")
    return row


def repository(row: sqlite3.Row) -> Repository:
    """Return a repository from its row."""
    return Repository(
        forge=FORGE_NAME,
        id=str(row["id"]),
        full_name=row["full_name"],
        default_branch=row["default_branch"],
        private=bool(row["private"]),
        archived=bool(row["archived"]),
        url=f"{FORGE_NAME}://{row['full_name']}",
    )


def permission(tx: Transaction, repository_id: str, user: Actor) -> Permission:
    """Return what a user may do, by id; NONE for a stranger and for the deleted."""
    row = tx.one(
        "SELECT permission FROM permissions JOIN users ON users.id = user_id"
        " WHERE repository_id = ? AND user_id = ? AND deleted = 0",
        number_of(repository_id),
        number_of(user.id),
    )
    return Permission(row["permission"]) if row else Permission.NONE


def issue_row(tx: Transaction, ref: IssueRef) -> sqlite3.Row:
    """Return the row of an issue or pull request. Raises NotFound."""
    row = tx.one(
        "SELECT * FROM issues WHERE repository_id = ? AND number = ?",
        number_of(ref.repository_id),
        ref.number,
    )
    if row is None:
        raise NotFound(f"there is no issue #{ref.number} in the repository {ref.repository_id}")
    return row


def issue_rows(tx: Transaction, repository_id: str) -> list[sqlite3.Row]:
    """Return the rows of a repository's issues and pull requests, oldest first."""
    number = number_of(repository_id)
    return tx.all("SELECT * FROM issues WHERE repository_id = ? ORDER BY number", number)


def issue(tx: Transaction, row: sqlite3.Row) -> Issue:
    """Return an issue, or a pull request in an issue's clothes, from its row."""
    assignees = tx.all("SELECT user_id FROM assignees WHERE issue_id = ? ORDER BY user_id", row["id"])
    return Issue(
        number=row["number"],
        title=row["title"],
        body=row["body"] or "",
        is_open=row["state"] == "open",
        labels=labels(tx, row["id"]),
        author=actor(tx, row["author_id"]),
        url=issue_url(tx, row),
        locked=bool(row["locked"]),
        is_pull=is_pull(tx, row["id"]),
        assignees=tuple(actor(tx, assignee["user_id"]) for assignee in assignees),
        changed_at=datetime.fromisoformat(row["updated_at"]),
    )


def is_pull(tx: Transaction, issue_id: int) -> bool:
    """Tell whether an issue is a pull request."""
    return tx.one("SELECT 1 FROM pulls WHERE issue_id = ?", issue_id) is not None


def labels(tx: Transaction, issue_id: int) -> tuple[str, ...]:
    """Return the labels of an issue in the order in which they were put on."""
    found = tx.all("SELECT name FROM issue_labels WHERE issue_id = ? ORDER BY position", issue_id)
    return tuple(row["name"] for row in found)


def labelled_numbers(tx: Transaction, repository_id: str, names: Sequence[str], since: datetime) -> list[int]:
    """Return the numbers of open issues with one of these labels that changed since, oldest first."""
    found = tx.all(
        "SELECT DISTINCT number FROM issues JOIN issue_labels ON issue_id = issues.id"
        " WHERE repository_id = ? AND state = 'open' AND issues.id NOT IN (SELECT issue_id FROM pulls)"
        " AND lower(name) IN (SELECT lower(value) FROM json_each(?))"
        " AND julianday(updated_at) >= julianday(?)"
        " ORDER BY number",
        number_of(repository_id),
        json.dumps(list(names)),
        since.isoformat(),
    )
    return [row["number"] for row in found]


def label_changes(tx: Transaction, ref: IssueRef) -> tuple[LabelChange, ...]:
    """Return who put which label on an issue or took it off, oldest first, from what was announced of it."""
    found = tx.all(
        "SELECT action, created_at, body ->> '$.label.name' AS label, body ->> '$.sender.id' AS sender FROM ("
        " SELECT *, CAST(payload AS TEXT) AS body FROM hook_deliveries"
        " WHERE action IN ('labeled', 'unlabeled'))"
        " WHERE body ->> '$.repository.id' = ?"
        " AND coalesce(body ->> '$.issue.number', body ->> '$.pull_request.number') = ? ORDER BY position",
        number_of(ref.repository_id),
        ref.number,
    )
    return tuple(
        LabelChange(
            label=row["label"],
            added=row["action"] == "labeled",
            actor=actor(tx, row["sender"]),
            at=datetime.fromisoformat(row["created_at"]),
        )
        for row in found
    )


def issue_url(tx: Transaction, row: sqlite3.Row) -> str:
    """Return the address of an issue or pull request."""
    name = repository_row(tx, str(row["repository_id"]))["full_name"]
    kind = "pull" if is_pull(tx, row["id"]) else "issues"
    return f"{FORGE_NAME}://{name}/{kind}/{row['number']}"


def comment_rows(tx: Transaction, issue_id: int) -> list[sqlite3.Row]:
    """Return the rows of an issue's comments, oldest first."""
    return tx.all("SELECT * FROM comments WHERE issue_id = ? ORDER BY id", issue_id)


def comment(tx: Transaction, row: sqlite3.Row) -> Comment:
    """Return a comment from its row."""
    parent = tx.one("SELECT * FROM issues WHERE id = ?", row["issue_id"])
    assert parent is not None, "the foreign key holds"
    return Comment(
        id=str(row["id"]),
        author=actor(tx, row["author_id"]),
        body=row["body"],
        created_at=datetime.fromisoformat(row["created_at"]),
        url=f"{issue_url(tx, parent)}#comment-{row['id']}",
        changed_at=datetime.fromisoformat(row["updated_at"]),
    )


def pull_row(tx: Transaction, repository_id: str, number: int) -> sqlite3.Row:
    """Return the joined row of a pull request. Raises NotFound."""
    row = tx.one(
        f"SELECT {_PULL_COLUMNS} FROM pulls p JOIN issues i ON i.id = p.issue_id"
        " WHERE i.repository_id = ? AND i.number = ?",
        number_of(repository_id),
        number,
    )
    if row is None:
        raise NotFound(f"there is no pull request #{number} in the repository {repository_id}")
    return row


def pull_rows(tx: Transaction, repository_id: str, head_branch: str | None = None) -> list[sqlite3.Row]:
    """Return pull requests, from one head branch or all: open ones first, then the newest first."""
    return tx.all(
        f"SELECT {_PULL_COLUMNS} FROM pulls p JOIN issues i ON i.id = p.issue_id"
        " WHERE i.repository_id = ? AND p.head_branch = coalesce(?, p.head_branch)"
        " ORDER BY i.state = 'open' DESC, i.number DESC",
        number_of(repository_id),
        head_branch,
    )


def pull(tx: Transaction, row: sqlite3.Row) -> Pull:
    """Return a pull request from its joined row. While it is open its head is where the branch is now."""
    return Pull(
        number=row["number"],
        url=issue_url(tx, row),
        title=row["title"],
        body=row["body"] or "",
        head_branch=row["head_branch"],
        head_sha=pull_head(tx, row),
        base_branch=row["base_branch"],
        is_open=row["state"] == "open",
        is_draft=bool(row["draft"]),
        merged=row["merge_sha"] is not None,
        author=actor(tx, row["author_id"]),
    )


def pull_head(tx: Transaction, row: sqlite3.Row) -> str:
    """Return the head's sha: from git while the pull request is open, else what was last seen."""
    seen = str(row["head_sha"])
    if row["state"] != "open":
        return seen
    name = repository_row(tx, str(row["repository_id"]))["full_name"]
    return tx.git(name).resolve(row["head_branch"]) or seen
