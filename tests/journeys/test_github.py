"""GitHub from end to end: both processes, signed webhooks, the API over HTTP, git with tokens, a sandbox."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from app.clock import SystemClock
from app.demo.cases import Case, load_case
from app.demo.data_directory import data_directory
from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, GithubState, app_key
from app.demo.play import SOURCES
from app.demo.scenarios import scenario_named
from app.demo.scripted_model import ScriptedModel
from app.demo.service import Service
from app.demo.sources import files_of
from app.demo.stage import MODEL_NAME, PRICE
from app.demo.toolchain import BASE, tools_for
from app.settings import inherited_environment
from domain.model import IssueRef, Permission
from domain.pricing import write_prices
from domain.states import State
from providers.webhooks import sign
from store.database import Database
from store.tasks import SqliteTaskQueue
from tests.providers.github.contract import judge

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]

SECRET = "a-webhook-secret-of-these-journeys"
SECONDS = 200


class Place:
    """A GitHub with one repository, the service beside it, and a model that plays the demo's script."""

    secret = SECRET

    def __init__(self, data: Path) -> None:
        scenario = scenario_named("fix")
        self.case: Case = load_case(scenario.case)
        self.state = GithubState(data / "forge")
        self.state.install(self.case.repository.partition("/")[0])
        self.server = GithubServer(self.state, judge)
        script = {MODEL_NAME.partition("/")[2]: scenario.script(self.case)}
        self.model = ScriptedModel(script, price=PRICE, api_key="key-of-the-scripted-model")
        (data / "app.pem").write_text(app_key())
        self.world, self.data = self.state.local, data
        self.reporter, self.maintainer = self.world.create_user("robin"), self.world.create_user("mika")
        files = files_of(self.case, SOURCES)
        self.repository = self.world.create_repository(
            self.case.repository, default_branch=self.case.default_branch, files=files
        )
        self.world.grant(self.repository.id, self.maintainer, Permission.MAINTAIN)
        self.model.start()
        self.service = self._service(data)
        self.service.start()
        self._sent = 0

    @functools.cached_property
    def queue(self) -> SqliteTaskQueue:
        return SqliteTaskQueue(Database(self.service.database), SystemClock())

    def _service(self, data: Path) -> Service:
        return Service(data, self._settings(data), inherited_environment())

    def _settings(self, data: Path) -> dict[str, str]:
        return {
            "FIXWRIGHT_WEBHOOK_SECRET": SECRET,
            "FIXWRIGHT_REPOSITORIES": f"github:{self.case.repository}",
            "FIXWRIGHT_GITHUB_APP_ID": str(APP_ID),
            "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE": str(data / "app.pem"),
            "FIXWRIGHT_GITHUB_API_URL": self.server.url,
            "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(self.case)),
            "FIXWRIGHT_MODEL": MODEL_NAME,
            "FIXWRIGHT_API_BASE": self.model.base_url,
            "FIXWRIGHT_API_KEY": self.model.api_key,
            "FIXWRIGHT_MODEL_PRICES": write_prices({MODEL_NAME: PRICE}),
            # Its first sweep would race with the delivery: either may be the one that begins the task.
            "FIXWRIGHT_SWEEP_MINUTES": "0",
        }

    def issue(self, label: str) -> IssueRef:
        """Let somebody open the issue and the maintainer label it."""
        text = self.case.issue.strip() + "\n"
        issue = self.world.open_issue(self.repository.id, self.reporter, title=self.case.title, body=text)
        self.world.label(issue, self.maintainer, label)
        return issue

    def deliver(self) -> list[str]:
        """Send what GitHub has to tell, signed, to the door; returns the decisions."""
        decisions = []
        for hook in self.world.deliveries()[self._sent :]:
            headers = {
                "Content-Type": "application/json",
                "X-GitHub-Event": hook.event,
                "X-GitHub-Delivery": hook.guid,
                "X-Hub-Signature-256": sign(hook.payload, self.secret.encode()),
            }
            address = f"{self.service.address}/webhooks/github"
            decisions.append(httpx.post(address, content=hook.payload, headers=headers).json()["decision"])
            self._sent += 1
        return decisions

    def wait(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not until():
            assert time.monotonic() < deadline, self.service.last_lines()
            time.sleep(0.1)

    def close(self) -> None:
        self.service.stop()
        self.model.stop()
        self.server.close()


@pytest.fixture
def place() -> Iterator[Place]:
    with data_directory() as directory:
        place = Place(directory.path)
        try:
            yield place
        finally:
            place.close()


def test_a_label_becomes_a_verified_draft_and_a_merge_ends_it(place: Place) -> None:
    issue = place.issue(place.case.label)
    assert "queued" in place.deliver()
    place.wait(lambda: place.queue.tasks()[0].state not in {State.QUEUED, State.RUNNING})
    task = place.queue.tasks()[0]
    assert task.state is State.IN_REVIEW, place.service.last_lines()
    (pull,) = place.world.pulls(place.repository.id)
    assert pull.is_draft and "18 passed" in pull.body and pull.author == place.state.bot
    place.wait(lambda: any(f"#{pull.number}" in each.body for each in place.world.comments(issue)))
    assert not {"queued"} & set(place.deliver()), "what the service did itself asks for nothing"
    place.world.merge_pull(place.repository.id, pull.number, place.maintainer)
    assert "signal" in place.deliver()
    place.wait(lambda: place.queue.tasks()[0].state is State.DONE)
    place.service.stop()
    assert place.state.broken == [] and place.state.tokens == {}, "every token was revoked"
    log = place.service.log.read_text()
    assert "ghs_" not in log and "PRIVATE KEY" not in log and "Traceback" not in log
