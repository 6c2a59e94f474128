"""Solving an issue from a terminal: the real pipeline on a copy, and nothing else is changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.api.issue_address import NoIssue, read_address
from app.api.news import StreamEvent
from app.cli import cli
from app.demo.cases import load_case
from app.demo.scenarios import scenario_named
from app.demo.sources import files_of
from app.demo.stage import MODEL_NAME, _model_settings, _scripted
from app.demo.toolchain import tools_for
from app.settings import load_worker_settings
from app.solve.command import ending
from app.solve.place import _BRANCH_NAME, solve_place
from app.solve.solver import Solver
from app.solve.source import read_issue
from domain.errors import ConfigurationError
from domain.model import Category
from domain.states import State
from worker.announce import MODEL_REFUSED

GITHUB = "https://api.github.com"


@dataclass
class Home:
    """A person's repository, and a file with an issue."""

    checkout: Path
    issue: Path

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=me", "-c", "user.email=me@example.org", *words]
        return subprocess.run(command, cwd=self.checkout, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    case = load_case("fairshare")
    checkout = tmp_path / "fair share"
    for path, content in files_of(case, tmp_path / "sources").items():
        place = checkout / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content[0])
    issue = tmp_path / "issue.md"
    issue.write_text(f"# {case.title}\n\n{case.issue}")
    home = Home(checkout, issue)
    home.git("init", "-q", "-b", "trunk")
    home.git("add", "-A")
    home.git("commit", "-q", "-m", "First")
    model = _scripted(scenario_named("fix"), case)
    model.start()
    for name, value in {**_model_settings(model), "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(case))}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path / "elsewhere"))
    yield home
    model.stop()


@pytest.mark.long
@pytest.mark.journey
def test_an_issue_in_a_file_is_solved_and_handed_over_as_a_branch(home: Home, tmp_path: Path) -> None:
    before = home.git("rev-parse", "HEAD")
    words = [
        "solve",
        str(home.issue),
        "--repo",
        str(home.checkout),
        "--branch",
        "fix/share",
        "--yes",
        "--json",
    ]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    found = json.loads(done.stdout)
    assert (done.exit_code, found["solved"], found["verified"]) == (0, True, True), found
    assert "fairshare/split.py" in found["diff"]
    assert home.git("rev-parse", "fix/share").strip() == found["commit"]
    assert home.git("diff", "--name-only", "HEAD", "fix/share").split() == [
        "fairshare/split.py",
        "tests/test_split.py",
    ]
    assert home.git("rev-parse", "HEAD") == before
    assert home.git("status", "--porcelain") == ""
    assert "step 7" in done.stderr
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.long
@pytest.mark.journey
def test_what_happens_is_told_while_it_happens_and_ctrl_c_stops_it(home: Home) -> None:
    told: list[StreamEvent] = []

    def tell(event: StreamEvent) -> None:
        if not told:
            os.kill(os.getpid(), signal.SIGINT)
        told.append(event)

    issue = read_issue(str(home.issue), GITHUB)
    with solve_place(home.checkout, issue, Category.BUG, plan_first=False) as place:
        solver = Solver(place, place.settings(load_worker_settings(), ""))
        try:
            solved = solver.solve(lambda _: False, tell)
        finally:
            solver.close()
    assert solved.is_stopped and not solved.branch
    assert solved.task.state is State.QUEUED
    assert told and not place.data.exists()


@pytest.mark.long
@pytest.mark.parametrize("name", ["trunk", "-f"])
def test_a_branch_must_be_a_new_one_and_is_looked_at_first(home: Home, name: str) -> None:
    words = ["solve", str(home.issue), "--repo", str(home.checkout), f"--branch={name}", "--yes"]
    with pytest.raises(ConfigurationError, match="--branch: "):
        CliRunner().invoke(cli, words, catch_exceptions=False)


def test_a_missing_key_is_said_before_any_work(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIXWRIGHT_API_BASE", "FIXWRIGHT_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    words = ["solve", str(home.issue), "--repo", str(home.checkout), "--model", "anthropic/claude-sonnet-4-5"]
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY: is not set"):
        CliRunner().invoke(cli, words, catch_exceptions=False)


def test_what_is_put_off_ends_here_and_the_providers_words_are_shown() -> None:
    log = 'not JSON\n{"event": "x", "problem": "the key is wrong"}\n{"event": "y"}\n'
    said = ending(State.QUEUED, MODEL_REFUSED, log)
    assert said.startswith("The model's provider refuses the calls: the key is wrong ")
    assert "run it again" in said
    assert "by myself" not in said and "the service's log" not in said
    assert "run it again" in ending(State.QUEUED, "It was away.", "")
    assert ending(State.BLOCKED, "No tool.", log) == "No tool."


@pytest.mark.parametrize("name", ["fix/31", "a", "a-b_c.d/e", "x" * 200])
def test_a_plain_name_is_one(name: str) -> None:
    assert _BRANCH_NAME.fullmatch(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-f",
        "a..b",
        "a:b",
        "@{-1}",
        "a b",
        "x*",
        "a/",
        "/a",
        "a//b",
        "a.lock",
        "a.lock/b",
        "a.",
        ".a",
        "a\n",
    ],
)
def test_what_git_or_a_shell_could_misread_is_no_name(name: str) -> None:
    assert not _BRANCH_NAME.fullmatch(name)


def test_what_is_no_repository_and_no_issue_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", MODEL_NAME)
    empty = tmp_path / "empty.md"
    empty.write_text("\n\n")
    issue = tmp_path / "issue.md"
    issue.write_text("Title\n\nBody")
    for words, message in (
        ([str(empty)], "is empty"),
        ([str(tmp_path / "none.md")], "cannot be read"),
        (["https://evil.example/a/b/issues/1"], "no site that is known"),
        (["local://a/b/issues/1"], "is not on GitHub"),
        ([str(issue), "--repo", str(tmp_path)], "no git repository"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            CliRunner().invoke(cli, ["solve", *words], catch_exceptions=False)


def test_an_issues_file_has_its_title_first(tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    path.write_bytes(b"## The total is wrong\r\n\r\nIt is \xff 1 cent.\r\n")
    issue = read_issue(str(path), GITHUB)
    assert (issue.title, issue.body) == ("The total is wrong", "It is \ufffd 1 cent.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("https://github.com/acme/shop/issues/31", "github:acme/shop#31"),
        ("https://github.com/acme/shop/issues/31/", "github:acme/shop#31"),
        ("https://GitHub.com/acme/shop/issues/31?x=1#issuecomment-7", "github:acme/shop#31"),
        ("gitea:acme/shop#3", "gitea:acme/shop#3"),
        ("local://acme/shop/issues/1", "local:acme/shop#1"),
    ],
)
def test_an_issues_address_is_read(text: str, found: str) -> None:
    assert str(read_address(text, GITHUB)) == found


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/acme/shop/issues/0",
        "https://github.com/acme/issues/1",
        "https://github.com.evil.example/acme/shop/issues/1",
        "https://user@evil.example/github.com/a/b/issues/1",
        "javascript://github.com/acme/shop/issues/1x",
        "acme/shop#1",
        "",
    ],
)
def test_what_is_no_issues_address_is_refused(text: str) -> None:
    with pytest.raises(NoIssue):
        read_address(text, GITHUB)
