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
    parse_address,
    parse_command,
)
from domain.reviewing import names_somebody
from providers.webhooks import noted
from providers.webhooks.fields import (
    Json,
    action_of,
    moment_of,
    must_not_have,
    object_at,
    own_branch,
    reference_of,
    repository_name,
    sender_of,
    text_of,
    whole,
)


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
    must_not_have(payload, "comment", "pull_request", "review")
    issue = object_at(payload, "issue")
    action = action_of(payload)
    where = reference_of(forge, payload, issue)
    if isinstance(issue.get("pull_request"), dict):
        return Uninteresting(why=f"issues.{action} on a pull request")
    if action in {"closed", "deleted", "transferred"}:
        return IssueClosed(issue=where, actor=sender_of(payload), at=moment_of(issue.get("closed_at")))
    if action in {"opened", "edited", "reopened", "locked"}:
        return noted.issue(forge, payload, issue)
    if action not in {"labeled", "unlabeled"}:
        return Uninteresting(why=f"issues.{action}")
    label = payload.get("label")
    if not isinstance(label, dict):
        return Uninteresting(why=f"issues.{action} without a label")
    at = moment_of(issue.get("updated_at"))  # a payload is worded when the label changes, and so is its time
    if action == "unlabeled":
        name = text_of(label.get("name"))
        return IssueUnlabelled(issue=where, actor=sender_of(payload), label=name, at=at)
    return IssueLabelled(
        issue=where,
        repository_name=repository_name(payload),
        actor=sender_of(payload),
        label=text_of(label.get("name")),
        title=text_of(issue.get("title")),
        body=text_of(issue.get("body")),
        at=at,
    )


def _read_comment(forge: str, payload: Json) -> Event:
    must_not_have(payload, "review")
    comment = object_at(payload, "comment")
    issue = object_at(payload, "issue")
    where = reference_of(forge, payload, issue)
    action = action_of(payload)
    if action != "created":
        return Uninteresting(why=f"issue_comment.{action}")
    text = text_of(comment.get("body"))
    if _OWN_MARK.search(text):
        return Uninteresting(why="issue_comment.created by ourselves")
    verb = parse_command(text)
    if verb is None and isinstance(issue.get("pull_request"), dict) and names_somebody(text):
        return noted.pull_comment(forge, payload, comment)
    if verb is None and isinstance(issue.get("pull_request"), dict):
        return Uninteresting(why="issue_comment.created without a command")
    if verb is None:
        return noted.issue_comment(forge, payload, comment)
    title, body = _snapshot(verb, issue)
    return CommandGiven(
        issue=where,
        actor=sender_of(payload),
        verb=verb,
        comment_id=str(whole(comment.get("id"), "comment.id")),
        text=text,
        at=moment_of(comment.get("created_at")),
        repository_name=repository_name(payload),
        addressed=parse_address(text),
        labels=_labels(issue),
        title=title,
        body=body,
    )


def _snapshot(verb: Verb, issue: Json) -> tuple[str | None, str | None]:
    """Return the issue's title and body where a command asks for work on them, and they are an issue's."""
    is_issue = not isinstance(issue.get("pull_request"), dict) and isinstance(issue.get("title"), str)
    if verb not in {Verb.RUN, Verb.RESUME, Verb.RETRY} or not is_issue or "body" not in issue:
        return None, None
    return text_of(issue.get("title")), text_of(issue.get("body"))


def _labels(issue: Json) -> tuple[str, ...]:
    labels = issue.get("labels")
    named = (
        [text_of(each.get("name")) for each in labels if isinstance(each, dict)]
        if isinstance(labels, list)
        else []
    )
    return tuple(name for name in named[:100] if name)


def _read_pull(forge: str, payload: Json) -> Event:
    must_not_have(payload, "comment", "review", "issue")
    pull = object_at(payload, "pull_request")
    where = reference_of(forge, payload, pull)
    action = action_of(payload)
    if action in noted.PULL_ACTIONS:
        return noted.pull(forge, payload, pull)
    if action != "closed":
        return Uninteresting(why=f"pull_request.{action}")
    return PullClosed(
        issue=where,
        actor=sender_of(payload),
        head_branch=own_branch(pull, where.repository_id),
        merged=pull.get("merged") is True,
        at=moment_of(pull.get("closed_at")) or moment_of(pull.get("updated_at")),
    )


_OWN_MARK = re.compile(r"<!-- fixwright(?:-once)?:[^>\n]{1,210} -->\s*\Z")
"""What our comments end in, under whatever account they were written."""


_READERS: dict[str, Callable[[str, Json], Event]] = {
    "issues": _read_issues,
    "issue_comment": _read_comment,
    "pull_request": _read_pull,
    **noted.READERS,
}
