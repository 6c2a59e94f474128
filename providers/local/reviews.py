"""Reviews on an embedded forge: what people say of a pull request, its threads, and who is asked for more."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from domain.errors import ForgeError, NotFound
from domain.model import Actor, Comment
from domain.ports import ReviewThread
from providers.local import limits, payloads, rows
from providers.local.ground import Transaction


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a line of a pull request; `thread_id` "" opens a thread."""

    path: str
    line: int | None
    body: str
    thread_id: str = ""


def give(
    tx: Transaction, pull: sqlite3.Row, author: Actor, state: str, body: str, remarks: Sequence[Remark]
) -> str:
    """Store a review with its comments, announce each, and return its id. Raises NotFound, ForgeError."""
    review = tx.run(
        "INSERT INTO reviews (issue_id, author_id, state, body, created_at) VALUES (?, ?, ?, ?, ?)",
        *(pull["issue_id"], int(author.id), state, limits.body(body), tx.now),
    ).lastrowid
    assert review is not None, "an insert has a row id"
    tx.run("DELETE FROM review_requests WHERE issue_id = ? AND user_id = ?", pull["issue_id"], int(author.id))
    shown = {"id": review, "state": state, "body": body, "user": payloads.user(author)}
    payloads.about_pull(tx, "pull_request_review", "submitted", pull, author, review=_dated(tx, shown))
    for remark in remarks:
        _remark(tx, pull, author, review, remark)
    return str(review)


def _remark(tx: Transaction, pull: sqlite3.Row, author: Actor, review: int, remark: Remark) -> None:
    thread = _thread_row(tx, pull, remark.thread_id)["id"] if remark.thread_id else _open(tx, pull, remark)
    first = tx.one("SELECT min(id) AS id FROM thread_comments WHERE thread_id = ?", thread)
    comment = _write(tx, thread, review, author, remark.body)
    shown = {
        "id": comment,
        "pull_request_review_id": review,
        "path": remark.path,
        "body": remark.body,
        "user": payloads.user(author),
        **({"in_reply_to_id": first["id"]} if first is not None and first["id"] else {}),
    }
    kind = "pull_request_review_comment"
    payloads.about_pull(tx, kind, "created", pull, author, comment={**shown, "created_at": tx.now})


def threads(tx: Transaction, repository_id: str, number: int) -> tuple[ReviewThread, ...]:
    """Return every thread of a pull request. Raises NotFound."""
    pull = rows.pull_row(tx, repository_id, number)
    found = tx.all("SELECT * FROM threads WHERE issue_id = ? ORDER BY id", pull["issue_id"])
    return tuple(
        ReviewThread(
            id=str(row["id"]),
            path=row["path"],
            line=row["line"],
            is_resolved=bool(row["is_resolved"]),
            is_outdated=bool(row["is_outdated"]),
            comments=tuple(_comment(tx, each) for each in _comment_rows(tx, row["id"])),
        )
        for row in found
    )


def reply(tx: Transaction, pull: sqlite3.Row, thread_id: str, me: Actor, marker: str, body: str) -> str:
    """Answer in a thread once per marker; returns the comment's id. Raises NotFound, ForgeError."""
    thread = _thread_row(tx, pull, thread_id)["id"]
    for row in _comment_rows(tx, thread):
        if str(row["author_id"]) == me.id and row["body"].rstrip().endswith(marker):
            return str(row["id"])
    return _answered(tx, pull, thread, me, f"{body.rstrip()}\n\n{marker}")


def answer(tx: Transaction, pull: sqlite3.Row, comment_id: str, author: Actor, body: str) -> str:
    """Answer a comment in its thread, as GitHub's interface has it; "" where no comment has this id."""
    found = tx.one(
        "SELECT thread_id FROM thread_comments JOIN threads ON threads.id = thread_id"
        " WHERE thread_comments.id = ? AND issue_id = ?",
        *(rows.number_of(comment_id), pull["issue_id"]),
    )
    if found is None:
        return ""
    return _answered(tx, pull, found["thread_id"], author, body)


def request(tx: Transaction, pull: sqlite3.Row, reviewer: Actor) -> None:
    """Ask somebody for a review; a second time changes nothing. Raises NotFound, ForgeError."""
    found = rows.actor_called(tx, reviewer.login) if not reviewer.id else None
    number = reviewer.id or (found.id if found else "")
    known = tx.one("SELECT id FROM users WHERE id = ? AND deleted = 0", rows.number_of(number or "-1"))
    if known is None:
        raise NotFound(f"there is no account {reviewer.id or reviewer.login!r} to ask for a review")
    if known["id"] == pull["author_id"]:
        raise ForgeError("the author of a pull request cannot be asked to review it")
    tx.run("INSERT INTO review_requests VALUES (?, ?) ON CONFLICT DO NOTHING", pull["issue_id"], known["id"])


def requested(tx: Transaction, pull: sqlite3.Row) -> list[Actor]:
    """Return who is asked for a review and has given none since."""
    found = tx.all("SELECT user_id FROM review_requests WHERE issue_id = ?", pull["issue_id"])
    return [rows.actor(tx, row["user_id"]) for row in found]


def mark(tx: Transaction, thread_id: str, *, resolved: bool, outdated: bool) -> None:
    """Resolve a thread, or say that its lines are not there any more."""
    tx.run(
        "UPDATE threads SET is_resolved = ?, is_outdated = ? WHERE id = ?", resolved, outdated, int(thread_id)
    )


def _open(tx: Transaction, pull: sqlite3.Row, remark: Remark) -> int:
    values = (pull["issue_id"], remark.path, remark.line)
    made = tx.run("INSERT INTO threads (issue_id, path, line) VALUES (?, ?, ?)", *values).lastrowid
    assert made is not None, "an insert has a row id"
    return made


def _write(tx: Transaction, thread: int, review: int, author: Actor, body: str) -> int:
    made = tx.run(
        "INSERT INTO thread_comments (thread_id, review_id, author_id, body, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        *(thread, review, int(author.id), limits.body(body), tx.now),
    ).lastrowid
    assert made is not None, "an insert has a row id"
    return made


def _answered(tx: Transaction, pull: sqlite3.Row, thread: int, author: Actor, body: str) -> str:
    """Write into a thread by a review of its own, as every comment is part of one."""
    review = tx.run(
        "INSERT INTO reviews (issue_id, author_id, state, body, created_at) VALUES (?, ?, ?, ?, ?)",
        *(pull["issue_id"], int(author.id), "commented", "", tx.now),
    ).lastrowid
    assert review is not None, "an insert has a row id"
    return str(_write(tx, thread, review, author, body))


def _thread_row(tx: Transaction, pull: sqlite3.Row, thread_id: str) -> sqlite3.Row:
    row = tx.one(
        "SELECT * FROM threads WHERE id = ? AND issue_id = ?",
        int(thread_id) if thread_id.isascii() and thread_id.isdigit() else -1,
        pull["issue_id"],
    )
    if row is None:
        raise NotFound(f"there is no thread {thread_id!r}")
    return row


def _comment_rows(tx: Transaction, thread: int) -> list[sqlite3.Row]:
    return tx.all("SELECT * FROM thread_comments WHERE thread_id = ? ORDER BY id", thread)


def _comment(tx: Transaction, row: sqlite3.Row) -> Comment:
    return Comment(
        id=str(row["id"]),
        author=rows.actor(tx, row["author_id"]),
        body=row["body"],
        created_at=datetime.fromisoformat(row["created_at"]),
        url=f"local://thread-comment-{row['id']}",
    )


def _dated(tx: Transaction, shown: dict[str, object]) -> dict[str, object]:
    return {**shown, "submitted_at": tx.now}
