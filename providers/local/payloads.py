"""Words webhook payloads of the embedded forge in the shape that GitHub gives them."""

from __future__ import annotations

import sqlite3

from domain.model import Actor
from providers.local import rows
from providers.local.ground import Transaction

Json = dict[str, object]


def user(actor: Actor) -> Json:
    """Return a user as payloads show one."""
    return {"id": int(actor.id), "login": actor.login, "type": "Bot" if actor.is_bot else "User"}


def label(name: str) -> Json:
    """Return a label as payloads show one."""
    return {"name": name}


def repository(tx: Transaction, repository_id: int) -> Json:
    """Return a repository as payloads show one."""
    found = rows.repository(rows.repository_row(tx, str(repository_id)))
    return {
        "id": repository_id,
        "name": found.full_name.split("/")[1],
        "full_name": found.full_name,
        "private": found.private,
        "default_branch": found.default_branch,
        "archived": found.archived,
        "html_url": found.url,
    }


def issue(tx: Transaction, row: sqlite3.Row) -> Json:
    """Return an issue as payloads show one; a pull request has the key `pull_request`."""
    found = rows.issue(tx, row)
    shown: Json = {
        "id": row["id"],
        "number": found.number,
        "title": found.title,
        "body": row["body"],
        "state": row["state"],
        "locked": found.locked,
        "labels": [label(name) for name in found.labels],
        "assignees": [user(assignee) for assignee in found.assignees],
        "user": user(found.author),
        "html_url": found.url,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }
    if found.is_pull:
        shown["pull_request"] = {"html_url": found.url}
    return shown


def comment(tx: Transaction, row: sqlite3.Row) -> Json:
    """Return a comment as payloads show one."""
    found = rows.comment(tx, row)
    return {
        "id": row["id"],
        "body": found.body,
        "user": user(found.author),
        "html_url": found.url,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }


def pull(tx: Transaction, row: sqlite3.Row) -> Json:
    """Return a pull request as payloads show one."""
    found = rows.pull(tx, row)
    return {
        "id": row["pull_id"],
        "number": found.number,
        "title": found.title,
        "body": row["body"],
        "state": row["state"],
        "draft": found.is_draft,
        "merged": found.merged,
        "merge_commit_sha": row["merge_sha"],
        "user": user(found.author or Actor(id="0", login="ghost")),
        "labels": [label(name) for name in rows.labels(tx, row["issue_id"])],
        "head": {"ref": found.head_branch, "sha": found.head_sha},
        "base": {"ref": found.base_branch},
        "html_url": found.url,
    }


def about_issue(tx: Transaction, action: str, issue_id: int, sender: Actor, **more: object) -> None:
    """Announce that something happened to an issue, or to a pull request in what it shares with issues."""
    row = tx.one("SELECT * FROM issues WHERE id = ?", issue_id)
    assert row is not None, "announced in the transaction that changed it"
    if rows.is_pull(tx, issue_id):
        _announce_pull(tx, action, row, sender, more)
        return
    _announce(tx, "issues", row["repository_id"], sender, {"action": action, "issue": issue(tx, row), **more})


def about_comment(tx: Transaction, action: str, row: sqlite3.Row, sender: Actor, **more: object) -> None:
    """Announce a comment's creation, edit or deletion; on a pull request it is the same event."""
    parent = tx.one("SELECT * FROM issues WHERE id = ?", row["issue_id"])
    assert parent is not None, "the foreign key holds"
    payload = {"action": action, "issue": issue(tx, parent), "comment": comment(tx, row), **more}
    _announce(tx, "issue_comment", parent["repository_id"], sender, payload)


def about_push(
    tx: Transaction, repository_id: int, branch: str, shas: tuple[str, str], sender: Actor
) -> None:
    """Announce that a branch went from one sha to another; forty zeros stand for no branch."""
    payload: Json = {"ref": f"refs/heads/{branch}", "before": shas[0], "after": shas[1]}
    payload["pusher"] = {"name": sender.login}
    _announce(tx, "push", repository_id, sender, payload)


def about_new_name(tx: Transaction, repository_id: int, old: str, sender: Actor) -> None:
    """Announce that a repository has another name."""
    changes = {"repository": {"name": {"from": old.partition("/")[2]}}}
    _announce(tx, "repository", repository_id, sender, {"action": "renamed", "changes": changes})


def about_pull(
    tx: Transaction, event: str, action: str, row: sqlite3.Row, sender: Actor, **more: object
) -> None:
    """Announce a review of a pull request, or a comment that is part of one."""
    payload = {"action": action, "pull_request": pull(tx, row), **more}
    _announce(tx, event, row["repository_id"], sender, payload)


def _announce_pull(
    tx: Transaction, action: str, row: sqlite3.Row, sender: Actor, more: dict[str, object]
) -> None:
    joined = rows.pull_row(tx, str(row["repository_id"]), row["number"])
    payload = {"action": action, "number": row["number"], "pull_request": pull(tx, joined), **more}
    _announce(tx, "pull_request", row["repository_id"], sender, payload)


def _announce(tx: Transaction, event: str, repository_id: int, sender: Actor, payload: Json) -> None:
    tx.announce(event, {**payload, "repository": repository(tx, repository_id), "sender": user(sender)})
