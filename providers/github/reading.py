"""What a repository tells of its issues and people: all pages, by ids, as it is now."""

from __future__ import annotations

import base64
import heapq
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from domain.errors import ForgeError, NotFound
from domain.model import Actor, Issue, Permission
from domain.ports import LabelChange
from providers.github import shapes
from providers.github.calls import Patience
from providers.github.desk import Desk

MOST_FILE_BYTES = 2**20

_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Of a person: a bot's ends in [bot], and bots may not trigger anything."""

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


def issue(desk: Desk, number: int, patience: Patience) -> Issue:
    """Return an issue. Raises NotFound, after a second look: right after a webhook it may not be seen yet."""
    try:
        reply = desk.get(f"/issues/{number}")
    except NotFound:
        if patience.tries < 2:
            raise
        patience.sleep(patience.backoff(2))
        reply = desk.get(f"/issues/{number}")
    return shapes.issue(shapes.obj(reply.data, "issue"))


def labelled_issues(desk: Desk, labels: Sequence[str], changed_since: datetime) -> Iterator[Issue]:
    """Yield open issues with one of the labels, each once, oldest first; page by page."""
    since = max(changed_since.astimezone(UTC) if changed_since.year > 1 else _EARLIEST, _EARLIEST)
    lists = [_with_label(desk, label, since) for label in dict.fromkeys(labels)]
    seen: set[int] = set()
    for found in heapq.merge(*lists, key=lambda issue: issue.number):
        if found.number not in seen:
            seen.add(found.number)
            yield found


def _with_label(desk: Desk, label: str, since: datetime) -> Iterator[Issue]:
    """Yield the open issues with one label: several labels in one query would have to be there together."""
    query = {"labels": label, "state": "open", "sort": "created", "direction": "asc"}
    for data in desk.items("/issues", {**query, "since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}):
        found = shapes.issue(data)
        if not found.is_pull and (found.changed_at is None or found.changed_at >= since):
            yield found


def label_changes(desk: Desk, number: int) -> tuple[LabelChange, ...]:
    """Return what was put on and taken off, oldest first. Raises NotFound."""
    found = (shapes.label_change(data) for data in desk.items(f"/issues/{number}/events"))
    return tuple(sorted((change for change in found if change), key=lambda change: change.at))


def permission(desk: Desk, actor: Actor) -> Permission:
    """Return what somebody may do now, by id: their login may have been given to somebody else since."""
    if not actor.id.isascii() or not actor.id.isdecimal():
        return Permission.NONE
    found = _permission(desk, actor.login, actor.id)
    if found is None:
        login = login_now(desk, actor.id)
        found = _permission(desk, login, actor.id) if login else None
    return Permission.NONE if found is None else found


def _permission(desk: Desk, login: str, wanted_id: str) -> Permission | None:
    """Return what the account of this login may do, or None where there is none or it is another's."""
    if not _LOGIN.fullmatch(login):
        return None
    try:
        reply = desk.get(f"/collaborators/{login}/permission")
    except NotFound:
        return None
    data = shapes.obj(reply.data, "permission")
    return shapes.permission(data) if shapes.actor(data.get("user")).id == wanted_id else None


def login_now(desk: Desk, actor_id: str) -> str:
    """Return what an account is called now, or "" where there is none of this id."""
    try:
        found = shapes.actor(desk.anywhere(f"/user/{actor_id}").data)
    except NotFound:
        return ""
    return found.login if found.id == actor_id else ""


def file_at(desk: Desk, ref: str, path: str) -> bytes | None:
    """Return a file's bytes, or None where there is none, or a directory or a link. Raises ForgeError."""
    if any(step in {"", ".", ".."} for step in path.split("/")):
        return None
    try:
        data = desk.get(f"/contents/{quote(path)}", {"ref": ref}).data
    except NotFound:
        return None
    if not isinstance(data, dict) or data.get("type") != "file":
        return None
    size = data.get("size")
    if isinstance(size, int) and size > MOST_FILE_BYTES:
        raise ForgeError(f"{path} is larger than {MOST_FILE_BYTES} bytes")
    try:
        return base64.b64decode(shapes.text(data.get("content")))
    except ValueError:
        raise ForgeError(f"GitHub's answer has no content of {path}") from None
