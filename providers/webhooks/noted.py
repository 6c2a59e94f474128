"""Payloads of events that are only noted: one reader for each, tolerant of whatever is missing."""

from __future__ import annotations

from collections.abc import Callable

from domain.events import Event, Uninteresting
from domain.model import Actor
from domain.noted import (
    CheckAsked,
    InstallationChanged,
    IssueChanged,
    IssueCommented,
    Pinged,
    PullChanged,
    PullCommented,
    RepositoryChanged,
    ReviewCommented,
    ReviewGiven,
)
from providers.webhooks.fields import (
    Json,
    action_of,
    id_of,
    moment_of,
    must_not_have,
    object_at,
    own_branch,
    part,
    repository_name,
    sender_of,
    text_of,
    whole,
)

PULL_ACTIONS = frozenset({"opened", "reopened", "edited", "synchronize", "labeled", "unlabeled"}) | {
    "ready_for_review",
    "converted_to_draft",
}
_REPOSITORY_ACTIONS = frozenset(
    {"renamed", "transferred", "archived", "unarchived", "privatized", "publicized", "deleted", "edited"}
)
_MOST_NAMES = 1000
"""Repositories of one installation event that are written down."""


def issue(forge: str, payload: Json, found: Json) -> Event:
    """Read what happened to an issue. Raises ValueError."""
    changes = part(payload, "changes")
    labels = found.get("labels")
    names = (text_of(part({"label": each}, "label").get("name")) for each in _list(labels))
    return IssueChanged(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=repository_name(payload),
        number=whole(found.get("number"), "number"),
        labels=tuple(name for name in names if name),
        title_changed="title" in changes,
        body_changed="body" in changes,
    )


def pull(forge: str, payload: Json, found: Json) -> Event:
    """Read what happened to a pull request. Raises ValueError."""
    repository_id = _repository_id(payload)
    return PullChanged(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=repository_id,
        repository_name=repository_name(payload),
        number=whole(found.get("number"), "number"),
        head_branch=own_branch(found, repository_id),
        head_sha=text_of(part(found, "head").get("sha")),
        is_draft=found.get("draft") is True,
        label=text_of(part(payload, "label").get("name")),
    )


def _review(forge: str, payload: Json) -> Event:
    must_not_have(payload, "comment", "issue")
    review, found = object_at(payload, "review"), object_at(payload, "pull_request")
    repository_id = _repository_id(payload)
    return ReviewGiven(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=repository_id,
        repository_name=repository_name(payload),
        number=whole(found.get("number"), "number"),
        review_id=str(whole(review.get("id"), "review.id")),
        state=text_of(review.get("state")).lower(),
        body=text_of(review.get("body")),
        head_branch=own_branch(found, repository_id),
        at=moment_of(review.get("submitted_at")),
    )


def _review_comment(forge: str, payload: Json) -> Event:
    must_not_have(payload, "review", "issue")
    comment, found = object_at(payload, "comment"), object_at(payload, "pull_request")
    return ReviewCommented(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=repository_name(payload),
        number=whole(found.get("number"), "number"),
        review_id=id_of(comment, "pull_request_review_id"),
        comment_id=str(whole(comment.get("id"), "comment.id")),
        path=text_of(comment.get("path")),
        body=text_of(comment.get("body")),
        in_reply_to=id_of(comment, "in_reply_to_id"),
        at=moment_of(comment.get("created_at")),
    )


def pull_comment(forge: str, payload: Json, comment: Json) -> Event:
    """Read a comment in a pull request's conversation. Raises ValueError."""
    return PullCommented(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=repository_name(payload),
        number=whole(object_at(payload, "issue").get("number"), "number"),
        comment_id=str(whole(comment.get("id"), "comment.id")),
        body=text_of(comment.get("body")),
        at=moment_of(comment.get("created_at")),
    )


def issue_comment(forge: str, payload: Json, comment: Json) -> Event:
    """Read a comment on an issue that is no command. Raises ValueError."""
    return IssueCommented(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=repository_name(payload),
        number=whole(object_at(payload, "issue").get("number"), "number"),
        comment_id=str(whole(comment.get("id"), "comment.id")),
        at=moment_of(comment.get("created_at")),
    )


def _check(forge: str, payload: Json) -> Event:
    must_not_have(payload, "issue", "comment", "review")
    run, action = object_at(payload, "check_run"), action_of(payload)
    if action not in {"rerequested", "requested_action"}:
        return Uninteresting(why=f"check_run.{action}")
    return CheckAsked(
        forge=forge,
        action=action,
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=repository_name(payload),
        check_id=str(whole(run.get("id"), "check_run.id")),
        app_id=id_of(run.get("app"), "id"),
        sha=text_of(run.get("head_sha")),
        key=text_of(run.get("external_id")),
        button=text_of(part(payload, "requested_action").get("identifier")),
    )


def _installation(forge: str, payload: Json) -> Event:
    must_not_have(payload, "issue", "comment", "pull_request", "review")
    installation = object_at(payload, "installation")
    return InstallationChanged(
        forge=forge,
        action=action_of(payload),
        actor=sender_of(payload),
        installation_id=str(whole(installation.get("id"), "installation.id")),
        account=text_of(part(installation, "account").get("login")),
        app_id=id_of(installation, "app_id"),
        added=_names(payload, "repositories_added") or _names(payload, "repositories"),
        removed=_names(payload, "repositories_removed"),
    )


def _repository(forge: str, payload: Json) -> Event:
    must_not_have(payload, "issue", "comment", "pull_request", "review")
    action = action_of(payload)
    if action not in _REPOSITORY_ACTIONS:
        return Uninteresting(why=f"repository.{action}")
    name = repository_name(payload)
    return RepositoryChanged(
        forge=forge,
        action=action,
        actor=sender_of(payload),
        repository_id=_repository_id(payload),
        repository_name=name,
        former_name=_former_name(part(payload, "changes"), name),
    )


def _former_name(changes: Json, name: str) -> str:
    """Return what a repository was called before it was renamed or given to somebody else."""
    owner, _, bare = name.rpartition("/")
    before = text_of(part(changes, "repository", "name").get("from"))
    given_by = part(changes, "owner", "from")
    login = text_of((part(given_by, "user") or part(given_by, "organization")).get("login"))
    if before:
        return f"{owner}/{before}"
    return f"{login}/{bare}" if login else ""


def _ping(forge: str, payload: Json) -> Event:
    must_not_have(payload, "issue", "pull_request", "comment")
    return Pinged(
        forge=forge,
        action="ping",
        actor=sender_of(payload) if payload.get("sender") is not None else Actor(id="", login=""),
        repository_name=text_of(part(payload, "repository").get("full_name"))[:300],
        hook_id=id_of(payload, "hook_id"),
    )


def _names(payload: Json, key: str) -> tuple[str, ...]:
    found = (text_of(part({key: each}, key).get("full_name")) for each in _list(payload.get(key)))
    return tuple(name[:300] for name in found if name)[:_MOST_NAMES]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _repository_id(payload: Json) -> str:
    return str(whole(object_at(payload, "repository").get("id"), "repository.id"))


READERS: dict[str, Callable[[str, Json], Event]] = {
    "ping": _ping,
    "pull_request_review": _review,
    "pull_request_review_comment": _review_comment,
    "check_run": _check,
    "installation": _installation,
    "installation_repositories": _installation,
    "repository": _repository,
}
"""By the event's name."""
