"""GitHub's JSON into the product's nouns: tolerant of what is not used, strict about what is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import Actor, Comment, Issue, Permission, Pull, Repository
from domain.ports import LabelChange, Reaction
from domain.text import clip

Json = Mapping[str, object]

NAME = "github"

GHOST = Actor(id="", login="ghost")
"""Stands for everybody whose account is gone. No living user has an empty id."""

_RANK = {permission: rank for rank, permission in enumerate(Permission)}
_LEGACY = {"admin": Permission.ADMIN, "write": Permission.WRITE, "read": Permission.READ}


def obj(value: object, what: str) -> Json:
    """Return an object. Raises ForgeError."""
    if not isinstance(value, Mapping):
        raise ForgeError(f"GitHub's answer has no {what}")
    return value


def objects(value: object, what: str) -> list[Json]:
    """Return a list of objects. Raises ForgeError."""
    if not isinstance(value, list):
        raise ForgeError(f"GitHub's answer is no list of {what}")
    return [obj(each, what) for each in value]


def part(value: object, *keys: str) -> Json:
    """Return what stands under the keys if it is an object, else an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    """Return a string; everything else is ""."""
    return value if isinstance(value, str) else ""


def whole(value: object, what: str) -> int:
    """Return a number. Raises ForgeError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ForgeError(f"GitHub's answer has no {what}")
    return value


def moment(value: object, what: str) -> datetime:
    """Return a point in time. Raises ForgeError."""
    try:
        read = datetime.fromisoformat(text(value))
    except ValueError:
        raise ForgeError(f"GitHub's answer has no {what}") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def actor(value: object) -> Actor:
    """Return a user; null, and `ghost` who stands for the deleted, are nobody in particular."""
    if not isinstance(value, Mapping) or not value.get("id") or value.get("login") == "ghost":
        return GHOST
    login = text(value.get("login"))
    is_bot = value.get("type") == "Bot" or login.endswith("[bot]")
    return Actor(id=str(value["id"]), login=login, is_bot=is_bot)


def repository(data: Json) -> Repository:
    """Return a repository."""
    return Repository(
        forge=NAME,
        id=str(whole(data.get("id"), "repository's id")),
        full_name=text(data.get("full_name")),
        default_branch=text(data.get("default_branch")),
        private=data.get("private") is not False,
        archived=data.get("archived") is True,
        url=text(data.get("html_url")),
    )


def issue(data: Json) -> Issue:
    """Return an issue, or a pull request in an issue's clothes."""
    changed = data.get("updated_at")
    return Issue(
        number=whole(data.get("number"), "issue's number"),
        title=text(data.get("title")),
        body=text(data.get("body")),
        is_open=data.get("state") == "open",
        labels=labels(data),
        author=actor(data.get("user")),
        url=text(data.get("html_url")),
        locked=data.get("locked") is True,
        is_pull=isinstance(data.get("pull_request"), Mapping),
        assignees=tuple(actor(each) for each in _list(data.get("assignees"))),
        changed_at=moment(changed, "time of change") if changed else None,
    )


def labels(data: Json) -> tuple[str, ...]:
    """Return the names of labels; old answers have bare names."""
    found = _list(data.get("labels"))
    names = (text(each.get("name")) if isinstance(each, Mapping) else text(each) for each in found)
    return tuple(name for name in names if name)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def reaction(data: Json) -> Reaction:
    """Return a reaction to a comment. One whose account is gone is nobody's."""
    return Reaction(actor=actor(data.get("user")), content=text(data.get("content")))


def comment(data: Json) -> Comment:
    """Return a comment on an issue, a pull request or a line of one."""
    changed = data.get("updated_at")
    return Comment(
        id=str(whole(data.get("id"), "comment's id")),
        author=actor(data.get("user")),
        body=text(data.get("body")),
        created_at=moment(data.get("created_at"), "comment's time"),
        url=text(data.get("html_url")),
        changed_at=moment(changed, "comment's time of change") if changed else None,
    )


def pull(data: Json) -> Pull:
    """Return a pull request."""
    return Pull(
        number=whole(data.get("number"), "pull request's number"),
        url=text(data.get("html_url")),
        title=text(data.get("title")),
        body=text(data.get("body")),
        head_branch=text(part(data, "head").get("ref")),
        head_sha=text(part(data, "head").get("sha")),
        base_branch=text(part(data, "base").get("ref")),
        is_open=data.get("state") == "open",
        is_draft=data.get("draft") is True,
        merged=data.get("merged") is True or bool(data.get("merged_at")),
        author=actor(data.get("user")),
    )


def label_change(data: Json) -> LabelChange | None:
    """Return what an issue event says of a label, or None where it is about something else."""
    if data.get("event") not in {"labeled", "unlabeled"}:
        return None
    return LabelChange(
        label=text(part(data, "label").get("name")),
        added=data.get("event") == "labeled",
        actor=actor(data.get("actor")),
        at=moment(data.get("created_at"), "event's time"),
    )


def permission(data: Json) -> Permission:
    """Return what a collaborator may do: what both the role and the plain level vouch for.

    The plain level has no `maintain` (it says write) and no `triage` (read). A role of an organization's own
    making counts as its plain level.
    """
    plain = _LEGACY.get(text(data.get("permission")), Permission.NONE)
    try:
        role = Permission(text(data.get("role_name")) or plain.value)
    except ValueError:
        return plain
    ceiling = {Permission.READ: Permission.TRIAGE, Permission.WRITE: Permission.MAINTAIN}.get(plain, plain)
    return role if _RANK[role] <= _RANK[ceiling] else plain


def graphql_data(answer: object) -> Json:
    """Return the data of a GraphQL answer, whose errors come with status 200.

    Raises NotFound, PermissionRefused, ForgeUnavailable, ForgeError.
    """
    answered = obj(answer, "data")
    errors = [part({"error": each}, "error") for each in _list(answered.get("errors"))]
    if not errors:
        return obj(answered.get("data"), "data")
    kinds = {text(error.get("type")) for error in errors}
    message = clip("; ".join(text(error.get("message")) for error in errors), 600)
    if "RATE_LIMITED" in kinds:
        raise ForgeUnavailable(f"GitHub's rate limit stopped a query: {message}", 60.0)
    if "FORBIDDEN" in kinds or "INSUFFICIENT_SCOPES" in kinds:
        raise PermissionRefused(f"GitHub refused a query: {message}")
    if "NOT_FOUND" in kinds:
        raise NotFound(f"GitHub refused a query: {message}")
    raise ForgeError(f"GitHub refused a query: {message}")
