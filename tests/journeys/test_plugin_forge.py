"""A forge that is a plugin without webhooks: the sweep finds the label, and a draft is left on it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.clock import SystemClock
from app.demo.cases import load_case
from app.demo.data_directory import data_directory
from app.demo.play import SOURCES
from app.demo.scenarios import scenario_named
from app.demo.scripted_model import ScriptedModel
from app.demo.service import PROJECT, Service
from app.demo.sources import files_of
from app.demo.stage import MODEL_NAME, PRICE
from app.demo.toolchain import BASE, tools_for
from app.settings import inherited_environment
from domain.model import Permission
from domain.pricing import write_prices
from domain.states import State
from store.database import Database
from store.tasks import SqliteTaskQueue

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]

EXAMPLE = PROJECT / "examples" / "directory-forge"
SECONDS = 200


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's package as an installation leaves it, for this process and those that it starts."""
    place = tmp_path / "site"
    shutil.copytree(EXAMPLE / "directory_forge", place / "directory_forge")
    facts = place / "fixwright_directory_forge-0.1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fixwright-directory-forge\nVersion: 0.1.0\n"
    )
    points = "[fixwright.providers]\ndirectory = directory_forge.plugin:DirectoryProvider\n"
    (facts / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(place))
    return place


def wait(until: Callable[[], bool], service: Service) -> None:
    deadline = time.monotonic() + SECONDS
    while not until():
        assert time.monotonic() < deadline, service.last_lines()
        time.sleep(0.1)


def test_a_labelled_file_becomes_a_draft_in_a_file(installed: Path) -> None:
    from directory_forge.people import People

    scenario = scenario_named("fix")
    case = load_case(scenario.case)
    script = {MODEL_NAME.partition("/")[2]: scenario.script(case)}
    model = ScriptedModel(script, price=PRICE, api_key="key-of-the-scripted-model")
    with data_directory() as directory:
        data = directory.path
        people = People(data / "forge")
        repository_id = people.repository(case.repository, branch="main", private=False, empty=True)
        home = people.records.home(repository_id)
        push(home.git_path, data / "work", files_of(case, SOURCES))
        rosa, mika = people.person("rosa"), people.person("mika")
        people.grant(repository_id, mika.id, Permission.MAINTAIN)
        issue = people.open_issue(repository_id, rosa, case.title, case.issue)
        people.set_label(issue, mika, case.label, added=True)
        settings = {
            "PYTHONPATH": str(installed),
            "FIXWRIGHT_WEBHOOK_SECRET": "a-webhook-secret-that-nobody-signs-with",
            "FIXWRIGHT_REPOSITORIES": f"directory:{case.repository}",
            "FIXWRIGHT_FORGE_OPTIONS": f'{{"directory": {{"path": "{data / "forge"}"}}}}',
            "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(case)),
            "FIXWRIGHT_MODEL": MODEL_NAME,
            "FIXWRIGHT_API_BASE": model.base_url,
            "FIXWRIGHT_API_KEY": model.api_key,
            "FIXWRIGHT_MODEL_PRICES": write_prices({MODEL_NAME: PRICE}),
        }
        service = Service(data, settings, inherited_environment())
        model.start()
        try:
            service.start()
            queue = SqliteTaskQueue(Database(service.database), SystemClock())
            wait(lambda: bool(queue.tasks()), service)
            wait(lambda: queue.tasks()[0].state not in {State.QUEUED, State.RUNNING}, service)
            assert queue.tasks()[0].state is State.IN_REVIEW, service.last_lines()
            draft = home.issue(2)
            assert draft.head["pull"]["draft"] and "18 passed" in draft.body
            wait(lambda: any("#2" in each.body for each in home.comments(1)), service)
        finally:
            service.stop()
            model.stop()


def push(git: Path, work: Path, files: object) -> None:
    """Put a case's files on `main` as a person would, by git."""
    assert isinstance(files, dict)
    for name, (content, mode) in files.items():
        target = work / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode & 0o777)
    person = ["-c", "user.name=Rosa", "-c", "user.email=rosa@localhost"]
    for command in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "--all"],
        [*person, "commit", "--quiet", "--message=First"],
        ["push", "--quiet", str(git), "main"],
    ):
        subprocess.run(["git", *command], cwd=work, check=True, capture_output=True)
