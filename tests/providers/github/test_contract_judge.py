"""The judge of requests and answers can say no: without that, its silence would mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.demo.github.exchange import Answer, Exchange, Request
from tests.providers.github.contract import (
    Broken,
    check_answer,
    check_delivery,
    check_request,
    judge,
    operation,
)

ISSUE = "/repos/octo/widgets/issues/7"
PULLS = "/repos/octo/widgets/pulls"


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", ISSUE + "/", {}, None),
        ("GET", "/repos/octo/widgets/secrets", {}, None),
        ("DELETE", ISSUE, {}, None),
        ("GET", ISSUE, {"pretty": "1"}, None),
        ("GET", PULLS, {"state": "merged"}, None),
        ("POST", PULLS, {}, {"head": "x", "base": "main", "is_draft": True}),
        ("POST", PULLS, {}, {"head": 7, "base": "main"}),
        ("POST", PULLS, {}, {"title": "no ends"}),
        ("POST", ISSUE + "/comments", {}, {}),
        ("POST", "/app/installations/1/access_tokens", {}, {"repository_ids": ["1"]}),
        ("POST", "/app/installations/1/access_tokens", {}, {"permissions": {"contents": "admin"}}),
        ("GET", ISSUE, {}, {"a": 1}),
    ],
)
def test_a_wrong_request_is_named(method: str, path: str, query: dict[str, str], body: Any) -> None:
    with pytest.raises(Broken, match=r"\w"):
        check_request(method, path, query, body)


def test_paths_with_slashes_in_them_are_known() -> None:
    for path in ("contents/a/b.txt", "git/ref/heads/fixwright/issue-1", "compare/main...a/b"):
        assert operation("GET", f"/repos/octo/widgets/{path}") is not None
    assert operation("GET", "/user/7") is None and operation("POST", "/graphql") is None


@pytest.mark.parametrize(
    ("status", "data"),
    [(200, {"number": "7"}), (200, [1]), (200, {"labels": "bug"}), (204, None), (201, {"number": 7})],
)
def test_a_wrong_answer_is_named(status: int, data: Any) -> None:
    with pytest.raises(Broken, match="issues"):
        check_answer(operation("GET", ISSUE), status, data)


def test_a_right_answer_may_lack_fields_and_any_call_may_be_refused() -> None:
    found = operation("GET", ISSUE)
    check_answer(found, 200, {"number": 7, "body": None, "user": None})
    for status in (401, 403, 404, 410, 422, 429, 500, 503):
        check_answer(found, status, {"message": "no"})


@pytest.mark.long
@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("issues", {"action": "labeled", "issue": {"number": "7"}}),
        ("issues", {"action": "labeled", "sender": {"id": "9", "login": "mia"}}),
        ("issue_comment", {"action": "created", "comment": {"id": "1", "body": "x"}}),
        ("pull_request", {"action": "closed", "pull_request": {"merged": "yes"}}),
        ("repository", {"action": "renamed", "changes": {"repository": "old"}}),
    ],
)
def test_a_wrong_webhook_is_named(event: str, payload: dict[str, Any]) -> None:
    with pytest.raises(Broken, match=f"the webhook {event.replace('_', '-')}-"):
        check_delivery(event, payload)


@pytest.mark.long
def test_a_fault_that_is_planned_does_not_hide_a_wrong_request() -> None:
    request = Request("GET", ISSUE, ISSUE, {"pretty": "1"}, None, {})
    told = list(judge(Exchange(ISSUE, request, None)))
    assert len(told) == 3 and "pretty" in told[0] and "API version" in told[1] and "user agent" in told[2]
    answered = Exchange(ISSUE, request, Answer(200, {"number": "7"}))
    assert len(list(judge(answered))) == 3, "what was asked wrongly has no right answer to be held against"


def test_no_server_of_the_tests_is_without_the_judge() -> None:
    lines = [
        line for file in Path(__file__).parents[2].rglob("*.py") for line in file.read_text().splitlines()
    ]
    made = [line.strip() for line in lines if "= GithubServer(" in line and "in line" not in line]
    assert len(made) >= 3 and [line for line in made if "judge)" not in line] == []
