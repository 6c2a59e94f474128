"""The first start as it is: processes without an App, which go on by themselves once there is one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.demo.github.making import CLIENT_SECRET, WEBHOOK_SECRET
from app.github_app.stored import Room
from providers.webhooks import sign
from tests.app.github_app.conftest import PUBLIC, Github, stamp_of
from tests.app.github_app.test_stored import APP, KEYS
from tests.app.senders import labelled
from tests.app.web_process import UNSET, WebProcess, running_web_process

ROOT = Path(__file__).parents[3]
UNCONFIGURED = {
    "FIXWRIGHT_WEBHOOK_SECRET": UNSET,
    "FIXWRIGHT_REPOSITORIES": "github:acme/shop",
    "FIXWRIGHT_PUBLIC_URL": PUBLIC,
}


def second_port(web: WebProcess) -> int:
    """Wait until the process has started anew; returns the port it listens on since."""
    ports: list[int] = []

    def is_second(record: dict[str, Any]) -> bool:
        if record["event"] == "listening" and record not in seen:
            seen.append(record)
            ports.append(record["port"])
        return len(ports) > 1

    seen: list[dict[str, Any]] = []
    web.logged(is_second)
    return ports[1]


def deliver(port: int, secret: str) -> httpx.Response:
    body = json.dumps(labelled()).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "X-Hub-Signature-256": sign(body, secret.encode()),
    }
    return httpx.post(f"http://127.0.0.1:{port}/webhooks/github", content=body, headers=headers)


def test_from_the_code_in_the_log_to_the_first_delivery(tmp_path: Path, github: Github) -> None:
    settings = {**UNCONFIGURED, "FIXWRIGHT_GITHUB_API_URL": github.server.url}
    with running_web_process(tmp_path / "data", **settings) as web:
        here = f"http://127.0.0.1:{web.port}"
        assert deliver(web.port, "x" * 32).status_code == 503
        code = web.logged(lambda record: "code" in record)["code"]
        with httpx.Client(base_url=here, headers={"Origin": here}, follow_redirects=True) as browser:
            stamp = stamp_of(browser.get("/setup").text)
            page = browser.post("/setup/open", data={"code": code, "stamp": stamp}).text
            wishes = {"stamp": stamp_of(page), "name": "fixwright-acme", "organization": "acme"}
            back = github.press(browser.post("/setup/review", data=wishes).text)
            assert "is made" in browser.get(back).text
        answer = deliver(second_port(web), WEBHOOK_SECRET)
        assert (answer.status_code, answer.json()["decision"]) == (202, "queued")
        assert web.stop() == 0
        log = web.log_text()
    for secret in (WEBHOOK_SECRET, CLIENT_SECRET, "PRIVATE KEY", re.findall(r"code=(\w+)", back)[0]):
        assert secret not in log
    assert "Traceback" not in log


@pytest.mark.long
def test_an_app_that_the_command_line_made_is_taken_up_too(tmp_path: Path) -> None:
    with running_web_process(tmp_path / "data", **UNCONFIGURED) as web:
        with Room(tmp_path / "data") as room:
            room.keep(APP, KEYS)
        port = second_port(web)
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").json() == {"status": "ok"}
        over = httpx.get(f"http://127.0.0.1:{port}/setup/callback?code=x&state=y")
        assert over.status_code == 404 and "fixwright doctor" in over.text
        assert deliver(port, KEYS["webhook-secret"]).status_code == 202
        assert deliver(port, "x" * 40).status_code == 401


@pytest.mark.long
def test_it_ends_when_asked_without_an_app(tmp_path: Path) -> None:
    with running_web_process(tmp_path / "data", **UNCONFIGURED) as web:
        assert web.stop() == 0
        assert "Traceback" not in web.log_text()


class Worker:
    """`fixwright work` in its own process."""

    def __init__(self, data: Path, **settings: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("FIXWRIGHT_")}
        own = {
            "FIXWRIGHT_DATA_DIR": str(data),
            "FIXWRIGHT_REPOSITORIES": "github:acme/shop",
            "FIXWRIGHT_MODEL": "openai/gpt-4o",
            "FIXWRIGHT_LOG_FORMAT": "json",
            **settings,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from app.cli import main; main()", "work"],
            cwd=ROOT,
            env={**inherited, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def line(self, words: str) -> str:
        """Read the log up to a line with these words."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if words in line:
                return line
        raise AssertionError(lines)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@pytest.mark.long
def test_a_worker_waits_for_its_app_and_then_starts_with_it(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    try:
        assert "fixwright app create" in worker.line("waiting for a GitHub App")
        with Room(tmp_path) as room:
            room.keep(APP, {**KEYS, "private-key.pem": "no key at all"})
        assert "is not an RSA private key" in worker.line("fixwright: ")
        assert worker.process.wait(20) == 2
    finally:
        worker.process.kill()


@pytest.mark.long
def test_a_worker_that_waits_ends_when_asked(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    try:
        worker.line("waiting for a GitHub App")
        assert worker.end() == 0
    finally:
        worker.process.kill()
