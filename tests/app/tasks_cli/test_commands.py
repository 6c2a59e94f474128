"""The commands about tasks, over a database with a story in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from app.cli_page import cli_page
from app.tasks_cli.acting import NotAsItStands, command_text, replay_text
from domain.errors import ConfigurationError
from domain.events import CommandGiven, Verb
from domain.model import Attempt, Reason, Task
from domain.operators import OPERATOR_PROVIDER
from domain.states import Trigger
from tests.app.api.world import ApiWorld
from tests.app.stories import HOSTILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiWorld]:
    world = ApiWorld(tmp_path)
    (tmp_path / "fixwright.sqlite3").symlink_to(tmp_path / "api.sqlite3")
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    yield world
    world.database.close()


@pytest.fixture
def told(world: ApiWorld) -> tuple[Task, Attempt]:
    task, attempt = world.story.running(f"The total is wrong {HOSTILE}")
    world.step(attempt, 1, command="pytest -q", output=f"1 failed {HOSTILE}")
    world.transcript(attempt).append({"claim": {"root_cause": f"</pre><script>{HOSTILE}"}})
    return task, attempt


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def test_tasks_are_listed_and_chosen(world: ApiWorld) -> None:
    world.story.blocked("One", Reason.GUARD)
    world.story.labelled("Two")
    lines = run("tasks").stdout.splitlines()
    assert ["Two" in lines[0], "blocked (guard)" in lines[1]] == [True, True]
    assert len(run("tasks", "--state", "blocked").stdout.splitlines()) == 1
    assert [run["title"] for run in json.loads(run_json("tasks"))] == ["Two", "One"]
    assert run("tasks", "--repo", "acme/other").stdout == "There are no such tasks.\n"
    with pytest.raises(ConfigurationError, match="--state: 'asleep' is none"):
        run("tasks", "--state", "asleep")


def run_json(*words: str) -> str:
    return run(*words, "--json").stdout


def test_a_task_is_shown_with_all_that_happened(told: tuple[Task, Attempt]) -> None:
    text = run("show", str(told[0].id), "--transcript").stdout
    assert "attempt 1: under way" in text
    assert re.search(r"\$ pytest -q", text)
    assert "output 1 failed" in text
    assert "\x1b" not in text
    shown = json.loads(run_json("show", str(told[0].id), "--transcript"))
    assert [event["kind"] for event in shown["events"]] == ["move", "move", "phase", "step", "claim"]
    assert "events" not in json.loads(run_json("show", str(told[0].id)))


class _Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_page_is_whole_and_nothing_in_it_can_act(told: tuple[Task, Attempt]) -> None:
    page = run("show", str(told[0].id), "--export", "html").stdout
    found = _Tags(page)
    assert found.tags <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "pre"),
        *("details", "summary", "strong"),
    }
    assert not found.attributes & {"src", "href", "onerror", "style", "action"}
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert "pytest -q" in page and "&lt;script&gt;" in page
    assert "\x1b" not in page


def test_an_export_is_one_json_document(told: tuple[Task, Attempt]) -> None:
    exported = json.loads(run("show", str(told[0].id), "--export", "json").stdout)
    assert exported["events"][-1]["claim"]["root_cause"].endswith(HOSTILE)
    with pytest.raises(ConfigurationError, match="is no format"):
        run("show", str(told[0].id), "--export", "pdf")


def test_what_is_not_there_is_said(world: ApiWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no task 9"):
        run("show", "9")
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match="there is none"):
        run("tasks")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.CANCEL])
def test_a_command_is_the_operators_word(world: ApiWorld, verb: Verb) -> None:
    task = world.story.blocked("One", Reason.GUARD)
    said = json.loads(command_text(task.id, verb, as_json=True))
    assert said == {"task": task.id, "decision": None, "state": "blocked"}
    (signal,) = world.story.queue.signals()
    assert isinstance(signal.event, CommandGiven)
    assert (signal.event.verb, signal.task_id, signal.by_operator) == (verb, task.id, True)
    assert world.history.deliveries(1)[0].provider == OPERATOR_PROVIDER


def test_a_command_that_makes_no_sense_is_refused(world: ApiWorld) -> None:
    task = world.story.in_review("One")
    world.story.queue.move(task, Trigger.MERGED)
    with pytest.raises(NotAsItStands, match="is done, and cannot cancel"):
        command_text(task.id, Verb.CANCEL, as_json=False)
    assert world.story.queue.signals() == []


def test_a_delivery_that_is_not_there_is_not_replayed(world: ApiWorld) -> None:
    with pytest.raises(ConfigurationError, match="there is no delivery 99; the console's page Deliveries"):
        replay_text(99, {}, as_json=False)


def test_every_command_is_in_the_reference() -> None:
    page = cli_page()
    for command in ("tasks", "show", "retry", "cancel", "replay", "spend", "receipt list", "doctor", "serve"):
        assert f"### `fixwright {command}`" in page
    assert "| `--export` |" in page and "| `NUMBER` |" in page
