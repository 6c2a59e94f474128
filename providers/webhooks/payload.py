"""A GitHub-shaped JSON body into an event: only the fields that are used, tolerant of everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Uninteresting,
    Verb,
    parse_command,
)
from domain.model import Actor, IssueRef

Json = dict[str, object]

GHOST = Actor(id="", login="ghost")
"""Who acted when the forge no longer knows: a deleted account. No id of a living user is empty."""

_LARGEST = 2**63 - 1
"""Ids and numbers beyond this fit no database column and come from no forge."""

_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
_ACTION = re.compile(r"[a-z_]{1,64}")


def read_event(forge: str, name: str, body: bytes) -> Event:
    """Return what a delivery called `name` means.

    Raises:
        ValueError: the body is not a JSON object in UTF-8, is nested too deeply for the interpreter, or
            contradicts the event's name; the name travels in a header, which is not signed.
    """
    payload = _load(body)
    reader = _READERS.get(name)
    if reader is None:
        return Uninteresting(why=f"event {name}")
    return reader(forge, payload)


def _load(body: bytes) -> Json:
    try:
        payload: object = _DECODER.decode(body.decode("utf-8"))
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    if not isinstance(payload, dict):
        raise ValueError("the body is not a JSON object")
    return payload


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


# -- one reader per event ---------------------------------------------------------------------------


def _read_issues(forge: str, payload: Json) -> Event:
    _must_not_have(payload, "comment", "pull_request", "review")
    issue = _object(payload, "issue")
    action = _action(payload)
    reference = _reference(forge, payload, issue)
    if isinstance(issue.get("pull_request"), dict):
        return Uninteresting(why=f"issues.{action} on a pull request")
    if action in {"closed", "deleted", "transferred"}:
        return IssueClosed(issue=reference, actor=_sender(payload))
    if action not in {"labeled", "unlabeled"}:
        return Uninteresting(why=f"issues.{action}")
    label = payload.get("label")
    if not isinstance(label, dict):
        return Uninteresting(why=f"issues.{action} without a label")
    if action == "unlabeled":
        return IssueUnlabelled(issue=reference, actor=_sender(payload), label=_text(label.get("name")))
    return IssueLabelled(
        issue=reference,
        repository_name=_repository_name(payload),
        actor=_sender(payload),
        label=_text(label.get("name")),
        title=_text(issue.get("title")),
        body=_text(issue.get("body")),
    )


def _read_comment(forge: str, payload: Json) -> Event:
    _must_not_have(payload, "review")
    comment = _object(payload, "comment")
    issue = _object(payload, "issue")
    reference = _reference(forge, payload, issue)
    action = _action(payload)
    if action != "created":
        return Uninteresting(why=f"issue_comment.{action}")
    text = _text(comment.get("body"))
    verb = parse_command(text)
    if verb is None:
        return Uninteresting(why="issue_comment.created without a command")
    return CommandGiven(
        issue=reference,
        actor=_sender(payload),
        verb=verb,
        comment_id=str(_whole(comment.get("id"), "comment.id")),
        text=text,
        **_snapshot(verb, issue),
    )


def _snapshot(verb: Verb, issue: Json) -> dict[str, str]:
    """Return the issue's title and body where a command asks for work on them, and they are an issue's."""
    is_issue = not isinstance(issue.get("pull_request"), dict) and isinstance(issue.get("title"), str)
    if verb not in {Verb.RUN, Verb.RESUME, Verb.RETRY} or not is_issue or "body" not in issue:
        return {}
    return {"title": _text(issue.get("title")), "body": _text(issue.get("body"))}


def _read_pull(forge: str, payload: Json) -> Event:
    _must_not_have(payload, "comment", "review", "issue")
    pull = _object(payload, "pull_request")
    reference = _reference(forge, payload, pull)
    action = _action(payload)
    if action != "closed":
        return Uninteresting(why=f"pull_request.{action}")
    return PullClosed(
        issue=reference,
        actor=_sender(payload),
        head_branch=_own_branch(pull, reference.repository_id),
        merged=pull.get("merged") is True,
    )


def _own_branch(pull: Json, repository_id: str) -> str:
    """Return the head branch if it is in this repository, else "": a fork's may be named like one of ours."""
    head = pull.get("head")
    if not isinstance(head, dict):
        return ""
    if "repo" in head:
        home = head["repo"]
        if not isinstance(home, dict) or str(home.get("id")) != repository_id:
            return ""
    return _text(head.get("ref"))


def _read_ping(forge: str, payload: Json) -> Event:
    _must_not_have(payload, "issue", "pull_request", "comment")
    return Uninteresting(why="ping")


_READERS: dict[str, Callable[[str, Json], Event]] = {
    "issues": _read_issues,
    "issue_comment": _read_comment,
    "pull_request": _read_pull,
    "ping": _read_ping,
}


# -- fields -----------------------------------------------------------------------------------------


def _must_not_have(payload: Json, *keys: str) -> None:
    """Refuse the body of another event: a header was changed on a signed body."""
    for key in keys:
        if payload.get(key) is not None:
            raise ValueError(f"the body has `{key}`, which this event does not have")


def _object(payload: Json, key: str) -> Json:
    value = payload.get(key)
    if not isinstance(value, dict):
        raise ValueError(f"`{key}` is not an object")
    return value


def _whole(value: object, what: str, smallest: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= _LARGEST:
        raise ValueError(f"`{what}` is not a whole number from {smallest} to 2^63-1")
    return value


def _text(value: object) -> str:
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


def _action(payload: Json) -> str:
    action = payload.get("action")
    if not isinstance(action, str):
        raise ValueError("`action` is not a string")
    return action if _ACTION.fullmatch(action) else "(unreadable action)"


def _reference(forge: str, payload: Json, issue: Json) -> IssueRef:
    repository_id = _whole(_object(payload, "repository").get("id"), "repository.id")
    return IssueRef(
        forge=forge, repository_id=str(repository_id), number=_whole(issue.get("number"), "number")
    )


def _repository_name(payload: Json) -> str:
    name = _text(_object(payload, "repository").get("full_name"))
    if len(name) > 300 or not _NAME.fullmatch(name):
        raise ValueError("`repository.full_name` is not a name such as owner/name")
    return name


def _sender(payload: Json) -> Actor:
    sender = payload.get("sender")
    if not isinstance(sender, dict):
        return GHOST
    return Actor(
        id=str(_whole(sender.get("id"), "sender.id", smallest=0)),
        login=_text(sender.get("login")),
        is_bot=sender.get("type") == "Bot",
    )
