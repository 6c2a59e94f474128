"""Single fields of a payload: strict about what is used as a key, tolerant of everything else. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from domain.model import Actor, IssueRef

Json = dict[str, object]

GHOST = Actor(id="", login="ghost")
"""Who acted when the forge no longer knows: a deleted account. No id of a living user is empty."""

_LARGEST = 2**63 - 1
"""Ids and numbers beyond this fit no database column and come from no forge."""

_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_ACTION = re.compile(r"[a-z_]{1,64}")


def must_not_have(payload: Json, *keys: str) -> None:
    """Refuse the body of another event: a header was changed on a signed body."""
    for key in keys:
        if payload.get(key) is not None:
            raise ValueError(f"the body has `{key}`, which this event does not have")


def object_at(payload: Json, key: str) -> Json:
    """Return an object. Raises ValueError."""
    value = payload.get(key)
    if not isinstance(value, dict):
        raise ValueError(f"`{key}` is not an object")
    return value


def whole(value: object, what: str, smallest: int = 1) -> int:
    """Return a number that is fit for a key. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= _LARGEST:
        raise ValueError(f"`{what}` is not a whole number from {smallest} to 2^63-1")
    return value


def text_of(value: object) -> str:
    """Return a string that can be encoded; null and everything that is no string are "".

    JSON can spell half a surrogate pair, which no database takes; such a half becomes U+FFFD.
    """
    if not isinstance(value, str):
        return ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def action_of(payload: Json) -> str:
    """Return what happened, in the forge's word. Raises ValueError."""
    action = payload.get("action")
    if not isinstance(action, str):
        raise ValueError("`action` is not a string")
    return action if _ACTION.fullmatch(action) else "(unreadable action)"


def reference_of(forge: str, payload: Json, issue: Json) -> IssueRef:
    """Return which issue or pull request it is about. Raises ValueError."""
    repository_id = whole(object_at(payload, "repository").get("id"), "repository.id")
    return IssueRef(
        forge=forge, repository_id=str(repository_id), number=whole(issue.get("number"), "number")
    )


def repository_name(payload: Json) -> str:
    """Return owner/name. Raises ValueError."""
    name = text_of(object_at(payload, "repository").get("full_name"))
    if len(name) > 300 or not _NAME.fullmatch(name):
        raise ValueError("`repository.full_name` is not a name such as owner/name")
    return name


def sender_of(payload: Json) -> Actor:
    """Return who did it. A login that ends as only a bot's can is a bot's, whatever its type says."""
    sender = payload.get("sender")
    if not isinstance(sender, dict):
        return GHOST
    login = text_of(sender.get("login"))
    return Actor(
        id=str(whole(sender.get("id"), "sender.id", smallest=0)),
        login=login,
        is_bot=sender.get("type") == "Bot" or login.endswith("[bot]"),
    )


def moment_of(value: object) -> datetime | None:
    """Return a point in time; one without a zone is UTC, and what cannot be read is None."""
    try:
        read = datetime.fromisoformat(text_of(value))
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def id_of(value: object, key: str) -> str:
    """Return the id of an object, "" where there is none. Raises ValueError for one that is no id."""
    if not isinstance(value, dict) or value.get(key) is None:
        return ""
    return str(whole(value[key], key))


def part(value: object, *keys: str) -> Json:
    """Return what stands under the keys if it is an object, else an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def own_branch(pull: Json, repository_id: str) -> str:
    """Return the head branch if it is in this repository, else "": a fork's may be named like one of ours."""
    head = pull.get("head")
    if not isinstance(head, dict):
        return ""
    if "repo" in head:
        home = head["repo"]
        if not isinstance(home, dict) or str(home.get("id")) != repository_id:
            return ""
    return text_of(head.get("ref"))
