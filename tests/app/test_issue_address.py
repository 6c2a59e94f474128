"""An issue by its URL: through a configured forge, as anybody, and in words where it cannot be had."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, OWNER, GithubState, app_key
from app.issue_address import issue_text, parsed
from app.settings import personal_token
from domain.errors import ConfigurationError
from providers.local.people import LocalWorld
from tests.providers.github.contract import judge

ISSUE = {"title": "parse_header cuts the value", "body": "At the second colon."}


class Enterprise:
    """An API on loopback: one public issue, one for a token, one moved, and a limit."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                token = self.headers.get("Authorization", "")
                outer.tokens.append(token)
                status, body, headers = outer.answer(self.path, token)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.site = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, path: str, token: str) -> tuple[int, object, dict[str, str]]:
        """Return status, body and headers."""
        known = "/api/v3/repos/acme/shop/issues/"
        if path == known + "1":
            return 200, ISSUE, {}
        if path == known + "2" and token == "Bearer mine":
            return 200, ISSUE, {}
        if path == known + "3":
            return 301, {}, {"Location": f"{self.site}{known}1"}
        if path == known + "4":
            return 301, {}, {"Location": "http://localhost:1/api/v3/repos/x/y/issues/1"}
        if path == known + "5":
            return 403, {"message": "API rate limit exceeded"}, {"x-ratelimit-remaining": "0"}
        if path == known + "6":
            return 200, ["no issue"], {}
        return 404, {"message": "Not Found"}, {}


@pytest.fixture
def enterprise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Enterprise]:
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path / "data"))
    place = Enterprise()
    yield place
    place.server.shutdown()
    place.server.server_close()


def test_anybody_reads_what_is_public(enterprise: Enterprise) -> None:
    assert issue_text(f"{enterprise.site}/acme/shop/issues/1").startswith("parse_header cuts the value\n\nAt")
    assert issue_text(f"{enterprise.site}/acme/shop/issues/3#issuecomment-7").startswith("parse_header")
    assert set(enterprise.tokens) == {""}


def test_the_command_takes_an_address(enterprise: Enterprise, tmp_path: Path) -> None:
    (tmp_path / "parser.py").write_text("def parse_header(line):\n    return line\n")

    said = CliRunner().invoke(
        cli, ["localize", "--repo", str(tmp_path), "--issue", f"{enterprise.site}/acme/shop/issues/1"]
    )

    assert said.output.startswith("100 %  parser.py:1 parse_header"), said.exception


def test_a_token_goes_to_the_configured_site_and_to_no_other(
    enterprise: Enterprise, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "mine")
    with pytest.raises(ConfigurationError, match="no credentials are set for it"):
        issue_text(f"{enterprise.site}/acme/shop/issues/2")
    assert enterprise.tokens == [""]

    monkeypatch.setenv("FIXWRIGHT_GITHUB_API_URL", f"{enterprise.site}/api/v3")
    assert issue_text(f"{enterprise.site}/acme/shop/issues/2").startswith("parse_header")
    assert personal_token({"GH_TOKEN": "other"}) == "other"


WRONG = {
    "hidden": ("/acme/shop/issues/2", "404: Not Found; no credentials are set for it: set GITHUB_TOKEN"),
    "elsewhere": ("/acme/shop/issues/4", "301"),
    "limited": ("/acme/shop/issues/5", "too many requests: API rate limit exceeded; try again later"),
    "no issue": ("/acme/shop/issues/6", "something that is no issue"),
    "no address": ("/acme/shop", "is no issue's address; a right one is"),
    "no number": ("/acme/shop/issues/0", "is no issue's address"),
}


@pytest.mark.parametrize(("path", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_had_is_told_with_the_way_out(enterprise: Enterprise, path: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        issue_text(enterprise.site + path)

    assert str(told.value).startswith(f"--issue: {enterprise.site}{path}") and words in str(told.value)


def test_a_site_that_does_not_answer(enterprise: Enterprise) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens

        with pytest.raises(ConfigurationError, match="cannot be reached"):
            issue_text(f"http://127.0.0.1:{silent.getsockname()[1]}/acme/shop/issues/1")


def test_the_embedded_forge(enterprise: Enterprise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="set FIXWRIGHT_LOCAL_FORGE"):
        issue_text("local://acme/shop/issues/1")
    world = LocalWorld(tmp_path / "forge")
    repository = world.create_repository("acme/shop", files={"a.py": b""})
    number = world.open_issue(
        repository.id, world.create_user("anna"), title="It fails", body="Badly."
    ).number
    monkeypatch.setenv("FIXWRIGHT_LOCAL_FORGE", str(tmp_path / "forge"))

    assert issue_text(f"local://acme/shop/issues/{number}") == "It fails\n\nBadly."


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://github.com/a/b/issues/3", "a/b"),
        ("https://www.github.com/a/b/pull/3/", "a/b"),
        ("https://gitlab.example/group/sub/b/-/issues/3?x=1#note_2", "group/sub/b"),
    ],
)
def test_addresses_are_read_as_people_copy_them(text: str, name: str) -> None:
    assert (parsed(text).name, parsed(text).number) == (name, 3)
    assert parsed(text).site in {"https://github.com", "https://gitlab.example"}


@pytest.mark.long
def test_a_configured_app_reads_what_nobody_else_may(
    enterprise: Enterprise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state = GithubState(tmp_path / "forge")
    state.install(OWNER)
    server = GithubServer(state, judge)
    try:
        repository = state.local.create_repository(f"{OWNER}/hidden", private=True, files={"a.py": b""})
        number = state.local.open_issue(
            repository.id, state.local.create_user("anna"), title="It fails", body="Badly."
        ).number
        monkeypatch.setenv("FIXWRIGHT_GITHUB_APP_ID", str(APP_ID))
        monkeypatch.setenv("FIXWRIGHT_GITHUB_PRIVATE_KEY", app_key())
        monkeypatch.setenv("FIXWRIGHT_GITHUB_API_URL", server.url)
        site = server.url.removesuffix("/api/v3")

        assert issue_text(f"{site}/{OWNER}/hidden/issues/{number}") == "It fails\n\nBadly."
        with pytest.raises(ConfigurationError, match="the configured forge says"):
            issue_text(f"{site}/{OWNER}/hidden/issues/{number + 7}")
    finally:
        server.close()
