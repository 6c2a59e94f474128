"""What a refusal means: a limit, a lacking permission, trouble over there, or our own fault."""

from __future__ import annotations

import email.utils
from typing import Any

import pytest

from providers.github.answers import Kind, judge, said

NOW = 1_800_000_000.0
DATE = {"date": email.utils.formatdate(NOW, usegmt=True)}
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
NO_ACCESS = {"message": "Resource not accessible by integration"}
NONE_LEFT = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 90)}


@pytest.mark.parametrize(
    ("status", "headers", "data", "kind", "wait"),
    [
        (403, {}, SECONDARY, Kind.LIMITED, None),
        (429, {"retry-after": "30"}, None, Kind.LIMITED, 30.0),
        (429, {}, {"message": "slow down"}, Kind.LIMITED, None),
        (403, {"retry-after": "7"}, {"message": "Forbidden"}, Kind.LIMITED, 7.0),
        (403, NONE_LEFT, {"message": "API rate limit exceeded for installation"}, Kind.LIMITED, 91.0),
        (403, {**NONE_LEFT, **DATE}, {"message": "API rate limit exceeded"}, Kind.LIMITED, 91.0),
        (403, {}, NO_ACCESS, Kind.FORBIDDEN, None),
        (403, NONE_LEFT, NO_ACCESS, Kind.FORBIDDEN, None),
        (403, {"x-ratelimit-remaining": "12"}, {"message": "Must have admin rights"}, Kind.FORBIDDEN, None),
        (401, {}, {"message": "Bad credentials"}, Kind.UNAUTHORIZED, None),
        (404, {}, {"message": "Not Found"}, Kind.MISSING, None),
        (410, {}, {"message": "This issue was deleted"}, Kind.MISSING, None),
        (451, {}, {"message": "Repository access blocked"}, Kind.MISSING, None),
        (422, {}, {"message": "Validation Failed"}, Kind.INVALID, None),
        (500, {}, None, Kind.TRANSIENT, None),
        (503, {"retry-after": "3"}, None, Kind.TRANSIENT, 3.0),
        (502, {}, "<html>", Kind.TRANSIENT, None),
        (418, {}, {}, Kind.OTHER, None),
    ],
)
def test_each_refusal_has_its_kind(
    status: int, headers: dict[str, str], data: Any, kind: Kind, wait: float | None
) -> None:
    found = judge(status, headers, data, NOW)
    assert (found.kind, found.wait) == (kind, wait)
    assert found.message


@pytest.mark.parametrize("value", ["", "soon", "-5", "1e9", "9" * 30, "NaN", "٣"])
def test_a_wait_that_cannot_be_read_is_none(value: str) -> None:
    assert judge(429, {"retry-after": value}, None, NOW).wait is None


def test_a_wait_as_a_date_is_reckoned_by_their_clock() -> None:
    their_clock = NOW - 600
    headers = {
        "date": email.utils.formatdate(their_clock, usegmt=True),
        "retry-after": email.utils.formatdate(their_clock + 45, usegmt=True),
    }
    assert judge(429, headers, None, NOW).wait == 45.0


def test_the_permission_that_is_needed_is_named() -> None:
    found = judge(403, {"x-accepted-github-permissions": "issues=write"}, NO_ACCESS, NOW)
    assert "issues=write" in found.message


def test_what_github_says_of_single_fields_is_told_and_coded() -> None:
    errors: list[Any] = [
        {"resource": "PullRequest", "field": "head", "code": "invalid"},
        {"code": "custom", "message": "No commits between main and x"},
        "a bare word",
        7,
    ]
    found = judge(422, {}, {"message": "Validation Failed", "errors": errors}, NOW)
    assert found.codes == ("head:invalid", ":custom")
    for words in ("Validation Failed", "PullRequest head invalid", "No commits between", "a bare word"):
        assert words in found.message


@pytest.mark.parametrize("data", [None, 7, [], "text", {}, {"message": None}, {"errors": {}}, {"errors": 3}])
def test_a_refusal_without_words_is_silent(data: object) -> None:
    assert said(data) == ""


def test_long_words_are_cut() -> None:
    assert len(said({"message": "x" * 100_000})) < 700
