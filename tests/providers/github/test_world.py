"""The world of the tests keeps GitHub's own rules: who may what, what is not declared, where pages lead."""

from __future__ import annotations

import time
from typing import Any

import httpx
import jwt
import pytest

from app.demo.github.state import APP_ID, OWNER, Token, app_key
from domain.model import Actor
from tests.providers.github.stage import GithubStage

SECRET = "ghs_4711_handmade"


@pytest.fixture
def http(stage: GithubStage) -> httpx.Client:
    headers = {"User-Agent": "test", "X-GitHub-Api-Version": "2022-11-28"}
    return httpx.Client(base_url=stage.server.url, headers=headers, trust_env=False)


def holding(
    stage: GithubStage, repository_id: str, seconds: float = 600, **permissions: str
) -> dict[str, str]:
    """Return the headers of somebody with a token for a repository."""
    installation = stage.state.installations[OWNER]
    ids = frozenset({int(repository_id)})
    stage.state.tokens[SECRET] = Token(installation, ids, permissions, stage.state.now() + seconds)
    return {"Authorization": f"Bearer {SECRET}"}


def signed(**changes: Any) -> dict[str, str]:
    now = int(time.time())
    claims = {"iss": str(APP_ID), "iat": now - 60, "exp": now + 300, **changes}
    return {"Authorization": f"Bearer {jwt.encode(claims, app_key(), 'RS256')}"}


def test_a_token_opens_what_it_names_and_nothing_else(
    stage: GithubStage, http: httpx.Client, repository_id: str, person: Actor
) -> None:
    stage.open_issue(repository_id, person, "Title", "body")
    path, other = "/repos/octo/widgets-1/issues/1", stage.repository()
    reading = holding(stage, repository_id, issues="read")
    assert http.get(path, headers=reading).status_code == 200
    refused = http.post(path + "/comments", headers=reading, json={"body": "x"})
    assert refused.status_code == 403 and "issues=write" in refused.headers["x-accepted-github-permissions"]
    assert http.get("/repos/octo/widgets-2/issues/1", headers=reading).status_code == 404 and other
    assert http.get(path).status_code == 401
    assert http.get(path, headers=holding(stage, repository_id, -1, issues="read")).status_code == 401


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, 200),
        ({"iat": int(time.time()) + 3600}, 401),
        ({"exp": int(time.time()) + 3600}, 401),
        ({"exp": int(time.time()) - 3600}, 401),
        ({"iss": "12"}, 404),
    ],
)
def test_a_signature_of_the_app_is_checked(http: httpx.Client, changes: dict[str, Any], status: int) -> None:
    assert http.get("/app", headers=signed(**changes)).status_code == status


@pytest.mark.long
def test_a_token_has_no_more_than_the_installation(
    stage: GithubStage, http: httpx.Client, repository_id: str
) -> None:
    installation = stage.state.installations[OWNER]
    path = f"/app/installations/{installation.id}/access_tokens"
    body = {"repository_ids": [int(repository_id)], "permissions": {"issues": "write"}}
    made = http.post(path, headers=signed(), json=body)
    assert made.status_code == 201 and made.json()["repositories"][0]["id"] == int(repository_id)
    installation.permissions["issues"] = "read"
    assert http.post(path, headers=signed(), json=body).status_code == 422
    assert http.post(path, headers=signed(), json={"repository_ids": [987]}).status_code == 422
    wide = http.post(path, headers=signed(), json={})
    assert wide.json()["permissions"] == installation.permissions, "who names none gets all of them"


def test_what_is_not_declared_is_answered_loudly(stage: GithubStage, http: httpx.Client) -> None:
    assert http.get("/gists").status_code == 501
    assert len(stage.state.broken) == 2
    stage.state.broken.clear()
    http.get("/app", headers={**signed(), "X-GitHub-Api-Version": "2026-03-10"})
    assert stage.state.broken == ["GET /app: no API version is pinned"]
    stage.state.broken.clear()


def test_pages_lead_on_by_the_repositorys_id(
    stage: GithubStage, http: httpx.Client, repository_id: str, person: Actor
) -> None:
    for number in range(3):
        stage.open_issue(repository_id, person, f"{number}", "")
    reading = holding(stage, repository_id, issues="read")
    first = http.get("/repos/octo/widgets-1/issues?per_page=2", headers=reading)
    assert len(first.json()) == 2 and f"/repositories/{repository_id}/issues" in first.headers["link"]
    last = http.get(first.links["next"]["url"], headers=reading)
    assert len(last.json()) == 1 and "link" not in last.headers
