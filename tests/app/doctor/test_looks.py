"""The looks at settings, model, processes and forges, each against something real on loopback."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, GithubState, app_key
from app.doctor.forges import forges
from app.doctor.given import look_at_settings
from app.doctor.lines import Lines, looked
from app.doctor.model import model
from app.doctor.service import processes, public_address
from app.github_app.stored import Room
from app.setting_groups import WebSettings, WorkerSettings
from app.wake import BellListener
from domain.errors import StoreUnavailable
from domain.ports import Examination, Standing
from domain.pricing import read_prices
from providers.local.people import LocalWorld
from tests.app.github_app.test_stored import APP, KEYS
from tests.providers.github.contract import judge

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith("FIXWRIGHT_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))


def worst(lines: Lines) -> dict[str, Examination]:
    """Return the worst line of each subject."""
    rank = list(Standing)
    return {each.subject: each for each in sorted(lines, key=lambda each: rank.index(each.standing))}


class Answers:
    """A web server that says one thing."""

    def __init__(self) -> None:
        self.status, self.body = 200, b""
        self.asked: list[tuple[str, str]] = []
        answers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers.asked.append((self.path, self.headers.get("authorization") or ""))
                self.send_response(answers.status)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # who has read enough goes
                    self.wfile.write(answers.body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def answers() -> Iterator[Answers]:
    made = Answers()
    yield made
    made.close()


# -- settings ---------------------------------------------------------------------------------------


def test_settings_that_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "local:acme/shop")
    monkeypatch.setenv("FIXWRIGHT_PUBLIC_URL", "https://fixwright.example.org")
    given = look_at_settings()
    assert {each.standing for each in given.lines} == {Standing.OK}
    assert given.web is not None and given.worker is not None and SECRET in given.secrets


def test_every_wrong_setting_is_a_line_and_a_secret_in_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", "hunter2")
    monkeypatch.setenv("FIXWRIGHT_PORT", "no")
    monkeypatch.setenv("FIXWRIGHT_MAX_MINUTES", "no")
    monkeypatch.setenv("FIXWRIGHT_MODLE", "x")
    given = look_at_settings()
    words = [each.words for each in given.lines if each.standing is Standing.FAIL]
    for name in ("WEBHOOK_SECRET", "PORT", "MAX_MINUTES", "MODLE"):
        assert sum(f"FIXWRIGHT_{name}:" in each for each in words) == 1, words
    assert "hunter2" not in str(given.lines)
    assert given.web is None and given.worker is None


def test_an_app_that_is_waited_for_and_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "github:acme/shop")
    line = worst(iter(look_at_settings().lines))["GitHub App"]
    assert line.standing is Standing.FAIL and "fixwright app create" in line.fix
    with Room(tmp_path) as room:
        room.keep(APP, KEYS)
    line = worst(iter(look_at_settings().lines))["GitHub App"]
    assert line.standing is Standing.OK and "fixwright (4711)" in line.words
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    line = worst(iter(look_at_settings().lines))["GitHub App"]
    assert line.standing is Standing.WARN and "FIXWRIGHT_WEBHOOK_SECRET" in line.words
    (tmp_path / "github-app" / "private-key.pem").chmod(0o644)
    monkeypatch.delenv("FIXWRIGHT_WEBHOOK_SECRET")
    failed = worst(iter(look_at_settings().lines))["settings"]
    assert failed.standing is Standing.FAIL and "chmod 600" in failed.words


# -- the model --------------------------------------------------------------------------------------


def worker(tmp_path: Path, **changes: Any) -> WorkerSettings:
    return WorkerSettings(data_dir=tmp_path, **changes)


def test_a_model_with_price_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    lines = worst(model(worker(tmp_path, model="openai/gpt-4o")))
    assert {each.standing for each in lines.values()} == {Standing.OK}
    assert "openai/gpt-4o: $2.50 in, $10.00 out, per million tokens" in lines["model price"].words
    assert lines["model key"].words == "OPENAI_API_KEY is set" and "hunter2" not in str(lines)


@pytest.mark.long
@pytest.mark.parametrize(
    ("changes", "subject", "standing"),
    [
        ({}, "model", Standing.FAIL),
        ({"model": "house/unheard-of"}, "model price", Standing.FAIL),
        ({"model": "anthropic/claude-sonnet-4-5"}, "model key", Standing.FAIL),
        ({"model": "gpt-4o"}, "model key", Standing.WARN),
        ({"model": "house/m"}, "model key", Standing.WARN),
        ({"model": "ollama/llama3"}, "model key", Standing.OK),
        ({"model": "house/m", "api_key": "k"}, "model key", Standing.OK),
        (
            {"model": "m/m", "model_prices": read_prices('{"m/m": {"free": true}}')},
            "model price",
            Standing.OK,
        ),
    ],
    ids=str,
)
def test_a_model_that_lacks_something(
    tmp_path: Path, changes: dict[str, Any], subject: str, standing: Standing
) -> None:
    line = worst(model(worker(tmp_path, **changes)))[subject]
    assert line.standing is standing and (line.fix or standing is Standing.OK)


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        (200, Standing.OK),
        (401, Standing.FAIL),
        (403, Standing.FAIL),
        (404, Standing.WARN),
        (502, Standing.FAIL),
    ],
)
def test_an_endpoint_is_asked_for_what_costs_nothing(
    tmp_path: Path, answers: Answers, status: int, standing: Standing
) -> None:
    answers.status = status
    settings = worker(tmp_path, model="openai/x", api_base=f"{answers.url}/v1/", api_key="hunter2")
    line = worst(model(settings))["model endpoint"]
    assert line.standing is standing and "hunter2" not in str(line)
    assert answers.asked == [("/v1/models", "Bearer hunter2")]


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = worst(model(worker(tmp_path, model="openai/x", api_base=f"http://127.0.0.1:{port}")))
    assert line["model endpoint"].standing is Standing.FAIL


# -- processes and the public address ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "standing", "words"),
    [
        (b'{"status": "ok"}', Standing.OK, ""),
        (b'{"status": "the disk is full"}', Standing.FAIL, "the disk is full"),
        (b'{"status": "not configured yet"}', Standing.FAIL, "not configured yet"),
        (b"<html>", Standing.WARN, "not in our words"),
        (b"[]", Standing.WARN, "not in our words"),
        (b"x" * 5_000_000, Standing.WARN, "not in our words"),
        (b"[" * 4000, Standing.WARN, "not in our words"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_the_public_address_says(answers: Answers, body: bytes, standing: Standing, words: str) -> None:
    answers.body = body
    settings = WebSettings(webhook_secret=SECRET, public_url=answers.url)
    line = worst(public_address(settings))["public address"]
    assert line.standing is standing and words in line.words and answers.asked == [("/healthz", "")]


def test_without_a_public_address_nobody_is_asked() -> None:
    assert list(public_address(WebSettings(webhook_secret=SECRET))) == []


def test_processes_that_run_and_that_do_not(tmp_path: Path, answers: Answers) -> None:
    answers.body = b'{"status": "ok"}'
    settings = WebSettings(webhook_secret=SECRET, data_dir=tmp_path, host="0.0.0.0", port=answers.port)
    lines = worst(processes(settings))
    assert (lines["web process"].standing, lines["worker"].standing) == (Standing.OK, Standing.WARN)
    listener = BellListener(settings.bell_path)
    assert worst(processes(settings))["worker"].words == "runs"
    assert not listener.wait(0), "the worker was not woken by it"
    listener.close()
    answers.close()
    assert worst(processes(settings))["web process"].standing is Standing.WARN


# -- forges -----------------------------------------------------------------------------------------


def test_the_lines_of_github_and_what_it_holds_is_known_for_redaction(tmp_path: Path) -> None:
    state = GithubState(tmp_path / "github")
    state.install("octo")
    state.local.create_repository("octo/widgets", files={"README.md": b"x"})
    server = GithubServer(state, judge)
    settings = worker(
        tmp_path,
        repositories=frozenset({"github:octo/widgets"}),
        github_app_id=str(APP_ID),
        github_private_key=app_key(),
        github_api_url=server.url,
        public_url="https://fixwright.example.org",
    )
    told: list[str] = []
    lines = worst(forges(settings, told.append))
    server.close()
    assert {each.standing for each in lines.values()} == {Standing.OK}, lines
    assert lines["github: repository octo/widgets"].words == "public, installed"
    assert told and not any(secret in str(lines) for secret in told) and state.tokens == {}
    assert state.broken == []


def test_a_forge_that_is_not_set_up_does_not_keep_another_from_being_looked_at(tmp_path: Path) -> None:
    LocalWorld(tmp_path / "forge").create_repository("acme/shop", files={"README.md": b"x"})
    settings = worker(
        tmp_path,
        repositories=frozenset({"github:acme/shop", "local:acme/shop", "local:acme/gone"}),
        local_forge=tmp_path / "forge",
    )
    lines = worst(forges(settings, print))
    assert lines["github"].standing is Standing.FAIL and "FIXWRIGHT_GITHUB_APP_ID" in lines["github"].words
    assert lines["local: repository acme/shop"].standing is Standing.OK
    assert lines["local: repository acme/gone"].standing is Standing.FAIL


def test_a_look_that_fails_is_a_line() -> None:
    def look() -> Lines:
        yield from ()
        raise StoreUnavailable("the disk is full")

    (line,) = looked("x", look, "make room")
    assert (line.standing, line.words, line.fix) == (Standing.FAIL, "the disk is full", "make room")

    def break_off() -> Lines:
        yield from ()
        raise PermissionError(13, "Permission denied")

    (line,) = looked("x", break_off, "chmod")
    assert line.words == "Permission denied"

    def stumble() -> Lines:
        yield from ()
        raise AttributeError("'MyForge' object has no attribute 'identity'")

    (line,) = looked("mine", stumble, "its package")
    assert line.standing is Standing.FAIL and "AttributeError: 'MyForge' object has no" in line.words


@pytest.mark.long
def test_json_is_one_line_of_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from app.doctor.check_up import check_up

    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2-hunter2-hunter2")
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/gpt-4o")
    status = check_up(as_json=True)
    out = capsys.readouterr().out
    told = json.loads(out)
    assert out.count("\n") == 1 and status == (1 if told["fail"] else 0)
    assert told["ok"] + told["warn"] + told["fail"] == len(told["lines"]) > 8
    assert set(told["lines"][0]) == {"subject", "standing", "words", "fix"}
    assert "hunter2" not in out and SECRET not in out
    monkeypatch.setenv("FIXWRIGHT_MODEL", "")
    assert check_up(as_json=False) == 1
    words = capsys.readouterr().out
    assert "fail  model: FIXWRIGHT_MODEL is not set\n      → FIXWRIGHT_MODEL=" in words
