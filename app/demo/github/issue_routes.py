"""Answers about a repository, its issues, their comments and labels, its people and files."""

from __future__ import annotations

import base64
import re
from typing import Any

from app.demo.github.exchange import Answer, Moved, Refused, Request
from app.demo.github.refusals import refusing
from app.demo.github.shapes import (
    GHOST,
    Here,
    Routes,
    comment_json,
    issue_json,
    paged,
    repository_json,
    user_json,
    when,
)
from domain.model import Permission
from domain.ports import LabelChange
from providers.local import issues, rows

LEVELS = {Permission.MAINTAIN: "write", Permission.TRIAGE: "read"}


def _repository(here: Here, request: Request, match: re.Match[str]) -> Answer:
    return Answer(200, repository_json(here))


def _issues(here: Here, request: Request, match: re.Match[str]) -> Answer:
    """List as GitHub does: pull requests among them, several labels together, changed since."""
    wanted = {name.lower() for name in request.query.get("labels", "").split(",") if name}
    since = request.query.get("since", "")
    newest_first = request.query.get("direction", "desc") == "desc"
    with here.ground.read() as tx:
        found = rows.issue_rows(tx, str(here.id))
        shown = [issue_json(here, tx, row) for row in (reversed(found) if newest_first else found)]
    state = request.query.get("state", "open")
    kept = [
        each
        for each in shown
        if (state == "all" or each["state"] == state)
        and wanted <= {label["name"].lower() for label in each["labels"]}
        and each["updated_at"] >= since
    ]
    return paged(here, request, kept)


def _issue(here: Here, request: Request, match: re.Match[str]) -> Answer:
    location = here.state.transferred.get((here.id, int(match[1])))
    if location:
        raise Moved(301, location)
    with here.ground.read() as tx:
        return Answer(200, issue_json(here, tx, rows.issue_row(tx, here.ref(match[1]))))


def _comments(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        found = rows.comment_rows(tx, rows.issue_row(tx, here.ref(match[1]))["id"])
        return paged(here, request, [comment_json(here, tx, row) for row in found])


def _write_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with refusing("IssueComment"), here.ground.write() as tx:
        row = issues.write_comment(tx, here.ref(match[1]), here.state.bot, request.body["body"])
        return Answer(201, comment_json(here, tx, row))


def _edit_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with refusing("IssueComment"), here.ground.write() as tx:
        row = issues.rewrite_comment(
            tx, issues.comment_row(tx, match[1]), here.state.bot, request.body["body"]
        )
        return Answer(200, comment_json(here, tx, row))


def _delete_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.write() as tx:
        issues.remove_comment(tx, issues.comment_row(tx, match[1]), here.state.bot)
    return Answer(204)


def _events(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        found = rows.label_changes(tx, here.ref(match[1]))
        author = user_json(rows.actor(tx, row["author_id"]))
    opened = {"id": 1, "event": "subscribed", "actor": author or GHOST, "created_at": when(row["created_at"])}
    return paged(here, request, [opened, *(_event_json(change) for change in found)])


def _event_json(change: LabelChange) -> dict[str, Any]:
    return {
        "id": 2,
        "event": "labeled" if change.added else "unlabeled",
        "actor": user_json(change.actor) or GHOST,
        "label": {"name": change.label, "color": "ededed"},
        "created_at": f"{change.at:%Y-%m-%dT%H:%M:%SZ}",
    }


def _add_labels(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with refusing("Label"), here.ground.write() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        issues.put_labels(tx, row["id"], here.state.bot, request.body["labels"])
        return Answer(200, [_label_json(name) for name in rows.labels(tx, row["id"])])


def _label_json(name: str) -> dict[str, Any]:
    return {"id": 5, "node_id": "x", "name": name, "color": "ededed", "default": False}


def _remove_label(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.write() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        if match[2].lower() not in {name.lower() for name in rows.labels(tx, row["id"])}:
            raise Refused(404, "Label does not exist")
        issues.take_label(tx, row["id"], here.state.bot, match[2])
        return Answer(200, [_label_json(name) for name in rows.labels(tx, row["id"])])


def _react(here: Here, request: Request, match: re.Match[str]) -> Answer:
    content = request.body["content"]
    with here.ground.write() as tx:
        is_new = issues.react(tx, issues.comment_row(tx, match[1]), here.state.bot, content)
    shown = {"id": 9, "content": content, "user": user_json(here.state.bot)}
    return Answer(201 if is_new else 200, {**shown, "created_at": "2026-01-01T00:00:00Z"})


def _reactions(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        found = issues.reactions(tx, issues.comment_row(tx, match[1]))
    wanted = request.query.get("content", "")
    shown = [
        {
            "id": number,
            "node_id": f"REA_{number}",
            "content": each.content,
            "user": user_json(each.actor),
            "created_at": "2026-01-01T00:00:00Z",
        }
        for number, each in enumerate(found, 1)
        if wanted in {"", each.content}
    ]
    return paged(here, request, shown)


def _permission(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        who = rows.actor_called(tx, match[1])
        if who is None:
            raise Refused(404, f"{match[1]} is not a user")
        held = rows.permission(tx, str(here.id), who)
    if held is Permission.NONE and not here.row["private"]:
        held = Permission.READ
    return Answer(
        200,
        {
            "permission": LEVELS.get(held, held.value),
            "role_name": held.value,
            "user": {**(user_json(who) or {}), "role_name": held.value},
        },
    )


def _contents(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        git = tx.git(here.full_name)
    ref = request.query.get("ref", here.row["default_branch"])
    content = git.read_file(git.resolve(ref) or ref, match[1])
    encoded = base64.encodebytes(content).decode()
    return Answer(
        200,
        {
            "type": "file",
            "encoding": "base64",
            "size": len(content),
            "name": match[1].rpartition("/")[2],
            "path": match[1],
            "content": encoded,
            "sha": "0" * 40,
        },
    )


ISSUES_READ = {"issues": "read", "pull_requests": "read"}
ISSUES_WRITE = {"issues": "write", "pull_requests": "write"}


ISSUE_ROUTES: Routes = [
    ("GET", r"", {"metadata": "read"}, _repository),
    ("GET", r"/issues", {"issues": "read"}, _issues),
    ("GET", r"/issues/(\d+)", ISSUES_READ, _issue),
    ("GET", r"/issues/(\d+)/comments", ISSUES_READ, _comments),
    ("POST", r"/issues/(\d+)/comments", ISSUES_WRITE, _write_comment),
    ("PATCH", r"/issues/comments/(\d+)", ISSUES_WRITE, _edit_comment),
    ("DELETE", r"/issues/comments/(\d+)", ISSUES_WRITE, _delete_comment),
    ("POST", r"/issues/comments/(\d+)/reactions", ISSUES_WRITE, _react),
    ("GET", r"/issues/comments/(\d+)/reactions", ISSUES_READ, _reactions),
    ("GET", r"/issues/(\d+)/events", ISSUES_READ, _events),
    ("POST", r"/issues/(\d+)/labels", ISSUES_WRITE, _add_labels),
    ("DELETE", r"/issues/(\d+)/labels/(.+)", ISSUES_WRITE, _remove_label),
    ("GET", r"/collaborators/([^/]+)/permission", {"metadata": "read"}, _permission),
    ("GET", r"/contents/(.+)", {"contents": "read"}, _contents),
]
