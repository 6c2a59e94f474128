"""The threads of reviews on an embedded forge, as GitHub's GraphQL shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.demo.github.state import GithubState
from domain.model import Actor, Comment
from domain.ports import ReviewThread

_MARK = "RT"
"""Begins the ids of threads, which are numbers on the embedded forge."""


def threads_json(state: GithubState, variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the threads of the pull request that a query names; none where there is no such one."""
    full_name, number = f"{variables['owner']}/{variables['name']}", variables["number"]
    return [
        _thread(thread)
        for repository in state.local.repositories()
        if repository.full_name == full_name
        for pull in state.local.pulls(repository.id)
        if pull.number == number
        for thread in state.local.threads(repository.id, number)
    ]


def every_thread_json(state: GithubState) -> list[dict[str, Any]]:
    """Return every thread there is."""
    return [
        _thread(thread)
        for repository in state.local.repositories()
        for pull in state.local.pulls(repository.id)
        for thread in state.local.threads(repository.id, pull.number)
    ]


def _thread(thread: ReviewThread) -> dict[str, Any]:
    return {
        "id": f"{_MARK}{thread.id}",
        "isResolved": thread.is_resolved,
        "isOutdated": thread.is_outdated,
        "path": thread.path,
        "line": thread.line,
        "comments": [_comment(each) for each in thread.comments],
    }


def _comment(comment: Comment) -> dict[str, Any]:
    return {
        "databaseId": int(comment.id),
        "body": comment.body,
        "createdAt": f"{comment.created_at:%Y-%m-%dT%H:%M:%SZ}",
        "url": comment.url,
        "author": _author(comment.author),
    }


def _author(author: Actor) -> dict[str, Any]:
    kind = "Bot" if author.is_bot else "User"
    return {"__typename": kind, "login": author.login, "databaseId": int(author.id)}
