"""The command `fixwright app create` as a process, with a browser that follows the address it prints."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app.demo.github.making import CLIENT_SECRET, WEBHOOK_SECRET
from app.github_app.stored import Room, stored_app
from tests.app.github_app.conftest import Github
from tests.app.github_app.test_stored import APP, KEYS

ROOT = Path(__file__).parents[3]


class Command:
    """A running `fixwright app create`."""

    def __init__(self, data: Path, *words: str, **settings: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("FIXWRIGHT_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from app.cli import main; main()", "app", "create", *words],
            cwd=ROOT,
            env={**inherited, "FIXWRIGHT_DATA_DIR": str(data), **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said = ""

    def address(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if "Waiting" in line:
                break
        found = re.search(r"http://127\.0\.0\.1:\S+/once/\S+", self.said)
        assert found is not None, self.said
        return found[0]

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, self.said + err


def test_it_makes_an_app_and_says_what_is_next(data: Path, github: Github) -> None:
    command = Command(
        data,
        *("--organization", "acme", "--url", "https://fixwright.example.org", "--json"),
        FIXWRIGHT_GITHUB_API_URL=github.server.url,
        FIXWRIGHT_WEBHOOK_SECRET="x" * 40,
    )
    with httpx.Client(follow_redirects=True) as browser:
        back = github.press(browser.get(command.address()).text)
        assert "is made" in browser.get(back).text
    status, out, err = command.end()
    assert status == 0, err
    told = json.loads(out)
    assert told["app"]["slug"] == "fixwright" and told["app"]["name"] == "fixwright-acme"
    assert told["install"] == f"{github.server.origin}/github-apps/fixwright/installations/new"
    notes = " ".join(told["notes"])
    assert "FIXWRIGHT_WEBHOOK_SECRET of the environment come first" in notes
    assert "FIXWRIGHT_REPOSITORIES" in notes and "FIXWRIGHT_PUBLIC_URL" in notes
    assert stored_app(data) is not None
    for secret in (WEBHOOK_SECRET, CLIENT_SECRET, "PRIVATE KEY"):
        assert secret not in out + err


@pytest.mark.long
def test_a_person_reads_it_in_words_and_an_old_app_is_put_aside(data: Path, github: Github) -> None:
    with Room(data) as room:
        room.keep(APP, KEYS)
    command = Command(
        data,
        "--replace",
        "--url",
        "https://x.example.org",
        "--api-url",
        github.server.url,
        "--name",
        "my app",
    )
    with httpx.Client(follow_redirects=True) as browser:
        browser.get(github.press(browser.get(command.address()).text))
    status, out, err = command.end()
    assert status == 0, err
    assert "Made: the GitHub App my app (4711) of octocat." in out
    assert "put aside: " in out and "installations/new" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "FIXWRIGHT_PUBLIC_URL: is not set"),
        (("--url", "http://localhost:8400"), "GitHub cannot reach"),
        (("--url", "https://x.example", "--name", "<b>"), "no name for an App"),
        (("--url", "https://x.example", "--organization", "a/b"), "not the name of an account"),
        (("--url", "https://x.example", "--api-url", "http://ghe.example.com"), "is not an https address"),
        (("--url", "https://x.example", "--api-url", "https://github.com"), "is the website's address"),
    ],
)
@pytest.mark.long
def test_what_is_wrong_is_one_line_and_nothing_is_served(
    data: Path, words: tuple[str, ...], said: str
) -> None:
    status, out, err = Command(data, *words).end()
    assert status == 2 and said in err and len(err.splitlines()) == 1 and out == ""


@pytest.mark.long
def test_an_app_that_is_there_is_not_replaced_by_accident(data: Path) -> None:
    with Room(data) as room:
        room.keep(APP, KEYS)
    status, _, err = Command(data, "--url", "https://x.example").end()
    assert status == 2 and "configured already" in err and "--replace" in err


@pytest.mark.long
def test_ctrl_c_ends_it_without_an_app(data: Path) -> None:
    command = Command(data, "--url", "https://x.example")
    command.address()
    command.process.send_signal(signal.SIGINT)
    status, out, err = command.end()
    assert status != 0 and "Traceback" not in err and out == ""
    assert stored_app(data) is None
