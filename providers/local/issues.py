"""Changes to issues and comments of the embedded forge; each announces itself in the same transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from domain.errors import NotFound
from domain.model import Actor, IssueRef
from domain.ports import Reaction
from providers.local import limits, payloads, rows
from providers.local.ground import Transaction


def insert_issue(
    tx: Transaction, repository_id: str, author: Actor, *, title: str, body: str | None
) -> tuple[int, int]:
    """Store an issue and return its id and number. Announces nothing. Raises NotFound, ForgeError."""
    repository = rows.repository_row(tx, repository_id)
    number = repository["last_number"] + 1
    tx.run("UPDATE repositories SET last_number = ? WHERE id = ?", number, repository["id"])
    cursor = tx.run(
        "INSERT INTO issues (repository_id, number, author_id, title, body, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        repository["id"],
        number,
        int(author.id),
        limits.title(title),
        None if body is None else limits.body(body),
        tx.now,
        tx.now,
    )
    assert cursor.lastrowid is not None, "an insert has a row id"
    return cursor.lastrowid, number


def edit(
    tx: Transaction, issue_id: int, sender: Actor, *, title: str | None = None, body: str | None = None
) -> None:
    """Change title or body, and announce it with what stood there before; no change, no announcement."""
    row = tx.one("SELECT * FROM issues WHERE id = ?", issue_id)
    assert row is not None, "callers found it in this transaction"
    wanted = {"title": title, "body": body}
    changes = {key: {"from": row[key]} for key, new in wanted.items() if new is not None and new != row[key]}
    if not changes:
        return
    tx.run(
        "UPDATE issues SET title = ?, body = ?, updated_at = ? WHERE id = ?",
        limits.title(row["title"] if title is None else title),
        row["body"] if body is None else limits.body(body),
        tx.now,
        issue_id,
    )
    payloads.about_issue(tx, "edited", issue_id, sender, changes=changes)


def put_labels(tx: Transaction, issue_id: int, sender: Actor, names: Sequence[str]) -> None:
    """Put labels on, one announcement each; those that are there already stay as they are."""
    for name in names:
        added = tx.run(
            "INSERT INTO issue_labels (issue_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
            issue_id,
            limits.label(name),
        )
        if added.rowcount:
            _touch(tx, issue_id)
            payloads.about_issue(tx, "labeled", issue_id, sender, label=payloads.label(name))


def take_label(tx: Transaction, issue_id: int, sender: Actor, name: str) -> None:
    """Take a label off, if it is there."""
    if tx.run("DELETE FROM issue_labels WHERE issue_id = ? AND name = ?", issue_id, name).rowcount:
        _touch(tx, issue_id)
        payloads.about_issue(tx, "unlabeled", issue_id, sender, label=payloads.label(name))


def _touch(tx: Transaction, issue_id: int) -> None:
    """Note the time of a change, so that a label put on again is another delivery than before."""
    tx.run("UPDATE issues SET updated_at = ? WHERE id = ?", tx.now, issue_id)


def set_state(tx: Transaction, issue_id: int, sender: Actor, *, is_open: bool) -> None:
    """Close or reopen; nothing happens to what is so already."""
    state = "open" if is_open else "closed"
    changed = tx.run(
        "UPDATE issues SET state = ?, updated_at = ? WHERE id = ? AND state != ?",
        state,
        tx.now,
        issue_id,
        state,
    )
    if changed.rowcount:
        payloads.about_issue(tx, "reopened" if is_open else "closed", issue_id, sender)


def write_comment(tx: Transaction, ref: IssueRef, author: Actor, body: str) -> sqlite3.Row:
    """Store a comment and return its row. Raises NotFound, ForgeError."""
    cursor = tx.run(
        "INSERT INTO comments (issue_id, author_id, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
        rows.issue_row(tx, ref)["id"],
        int(author.id),
        limits.body(body),
        tx.now,
        tx.now,
    )
    row = comment_row(tx, str(cursor.lastrowid))
    payloads.about_comment(tx, "created", row, author)
    return row


def rewrite_comment(tx: Transaction, row: sqlite3.Row, sender: Actor, body: str) -> sqlite3.Row:
    """Give a comment another text and return its new row; no change, no announcement."""
    if row["body"] == body:
        return row
    tx.run("UPDATE comments SET body = ?, updated_at = ? WHERE id = ?", limits.body(body), tx.now, row["id"])
    changed = comment_row(tx, str(row["id"]))
    payloads.about_comment(tx, "edited", changed, sender, changes={"body": {"from": row["body"]}})
    return changed


def remove_comment(tx: Transaction, row: sqlite3.Row, sender: Actor) -> None:
    """Delete a comment."""
    payloads.about_comment(tx, "deleted", row, sender)
    tx.run("DELETE FROM comments WHERE id = ?", row["id"])


def comment_row(tx: Transaction, comment_id: str) -> sqlite3.Row:
    """Return a comment's row. Raises NotFound."""
    row = tx.one("SELECT * FROM comments WHERE id = ?", rows.number_of(comment_id))
    if row is None:
        raise NotFound(f"there is no comment with the id {comment_id!r}")
    return row


def reactions(tx: Transaction, comment: sqlite3.Row) -> tuple[Reaction, ...]:
    """Return who has reacted to a comment, and how."""
    found = tx.all("SELECT * FROM reactions WHERE comment_id = ?", comment["id"])
    return tuple(Reaction(actor=rows.actor(tx, row["user_id"]), content=row["content"]) for row in found)


def unreact(tx: Transaction, comment: sqlite3.Row, sender: Actor, reaction: str) -> None:
    """Take a reaction off a comment, if it is on."""
    tx.run(
        "DELETE FROM reactions WHERE comment_id = ? AND user_id = ? AND content = ?",
        comment["id"],
        int(sender.id),
        reaction,
    )


def react(tx: Transaction, comment: sqlite3.Row, sender: Actor, reaction: str) -> bool:
    """Put a reaction on a comment; tell whether it is new."""
    done = tx.run(
        "INSERT OR IGNORE INTO reactions (comment_id, user_id, content) VALUES (?, ?, ?)",
        comment["id"],
        int(sender.id),
        reaction,
    )
    return done.rowcount == 1
