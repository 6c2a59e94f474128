"""The judge of requests and answers can say no: without that, its silence would mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.github.contract import Broken, check_answer, check_request, operation

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
