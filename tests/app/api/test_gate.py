"""Who may ask the API: the token alone, no cookie, no other site's page, and no endless request."""

from __future__ import annotations

import base64

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

from app.api.application import described
from app.api.caller import MOST_BODY_BYTES, Rules
from tests.app.api.world import OPERATOR, TOKEN, ApiWorld

SITE = "https://dashboard.example"


def test_every_route_wants_the_token(world: ApiWorld) -> None:
    client = world.client(headers={})
    paths = described(world.parts).openapi()["paths"]
    assert len(paths) >= 4
    for path, operations in [*paths.items(), ("/openapi.json", {"get": None}), ("/nothing", {"get": None})]:
        for method in operations:
            answer = client.request(method, path.replace("{number}", "1"), json={})
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["name"] == "not_permitted"


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Token {TOKEN}",
        TOKEN,
        "Bearer ünïcode",
        "Basic " + base64.b64encode(f"operator:{TOKEN}".encode()).decode(),
    ],
)
def test_nothing_but_the_whole_token_is_let_in(world: ApiWorld, authorization: str) -> None:
    headers = {"Authorization": authorization.encode("utf-8")}
    assert world.client(headers={}).get("/runs", headers=headers).status_code == 401


def test_the_token_is_let_in_and_a_cookie_is_not_looked_at(world: ApiWorld) -> None:
    assert world.client().get("/runs").status_code == 200
    assert world.client(headers={"Cookie": f"session={TOKEN}"}).get("/runs").status_code == 401


def test_without_a_token_set_nobody_is_the_operator(world: ApiWorld) -> None:
    client = world.client(headers={"Authorization": "Bearer "}, rules=Rules(token=""))
    assert client.get("/runs").status_code == 401


def test_every_answer_says_what_browsers_may_not_do_with_it(world: ApiWorld) -> None:
    for answer in (world.client().get("/runs"), world.client(headers={}).get("/runs")):
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_a_site_that_is_named_may_ask_and_another_may_not(world: ApiWorld) -> None:
    client = world.client(rules=Rules(token=TOKEN, origins=frozenset({SITE})))
    asked = {"Origin": SITE, "Access-Control-Request-Method": "POST"}
    preflight = client.options("/runs", headers=asked)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == SITE
    assert "Authorization" in preflight.headers["access-control-allow-headers"]
    assert client.get("/runs", headers={"Origin": SITE}).headers["access-control-allow-origin"] == SITE
    for other in ("https://evil.example", "null", SITE + ".evil.example", SITE.upper()):
        refused = client.options("/runs", headers={**asked, "Origin": other})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers
        assert "access-control-allow-origin" not in client.get("/runs", headers={"Origin": other}).headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver.evil.example"])
def test_another_sites_page_changes_nothing_even_with_the_token(world: ApiWorld, origin: str) -> None:
    answer = world.client().post("/runs/1/cancel", headers={"Origin": origin})
    assert (answer.status_code, answer.json()["name"]) == (403, "other_site")


def test_a_request_without_an_end_is_not_read(world: ApiWorld) -> None:
    reads = APIRouter()

    @reads.post("/reads")
    def read(body: dict[str, str]) -> None:
        """Read a body."""

    client = world.client(more=(reads,))
    long = b'{"a": "' + b"x" * MOST_BODY_BYTES
    assert client.post("/reads", content=long).status_code == 413
    in_pieces = (long[at : at + 1000] for at in range(0, len(long), 1000))
    answer = client.post("/reads", content=in_pieces, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["name"]) == (413, "too_long")
    assert client.post("/reads", headers={"Content-Length": "-1"}).status_code == 413


def test_the_head_tells_nothing_to_strangers(world: ApiWorld) -> None:
    task = world.story.labelled("A private matter")
    assert "private" not in world.client(headers={}).get(f"/runs/{task.id}").text
    assert isinstance(world.client(OPERATOR), TestClient)
