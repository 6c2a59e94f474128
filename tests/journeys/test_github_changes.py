"""GitHub from end to end, while things change: an App suspended, a repository archived, a service down."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from app.demo.data_directory import data_directory
from app.demo.github.state import GITHUB_HOOKS
from app.demo.toolchain import BASE
from domain.model import Reason
from domain.states import State
from providers.local.outbox import WebhookTarget
from providers.webhooks import sign
from tests.journeys.test_github import SECRET, Place

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]


@pytest.fixture
def place() -> Iterator[Place]:
    with data_directory() as directory:
        place = Place(directory.path)
        try:
            yield place
        finally:
            place.close()


class SweptPlace(Place):
    """A service that sweeps, and asks for what it missed, at its start and then every minute."""

    def _settings(self, data):  # type: ignore[no-untyped-def]  # as its parent's
        return {**super()._settings(data), "FIXWRIGHT_SWEEP_MINUTES": "1"}


@pytest.fixture
def swept() -> Iterator[SweptPlace]:
    with data_directory() as directory:
        place = SweptPlace(directory.path)
        try:
            yield place
        finally:
            place.close()


def tell(place: Place, event: str, payload: dict[str, object]) -> str:
    """Send a signed webhook as GitHub words it; returns the decision."""
    sender = {"id": int(place.maintainer.id), "login": place.maintainer.login, "type": "User"}
    body = json.dumps({"sender": sender, **payload}).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": f"{event}-{payload['action']}",
        "X-Hub-Signature-256": sign(body, SECRET.encode()),
    }
    answer = httpx.post(f"{place.service.address}/webhooks/github", content=body, headers=headers)
    return str(answer.json()["decision"])


def installation(place: Place, action: str) -> str:
    owner = place.case.repository.partition("/")[0]
    shown = {"id": place.state.installations[owner].id, "account": {"login": owner, "id": 77}}
    return tell(place, "installation", {"action": action, "installation": shown})


def repository(place: Place, action: str) -> str:
    shown = {"id": int(place.repository.id), "full_name": place.case.repository}
    return tell(place, "repository", {"action": action, "repository": shown})


def stands(place: Place) -> tuple[State, Reason | None]:
    (task,) = place.queue.tasks()
    return task.state, task.reason


def test_a_suspended_app_stops_what_runs_and_goes_on_when_it_is_let_in_again(place: Place) -> None:
    owner = place.case.repository.partition("/")[0]
    place.issue(place.case.label)
    assert "queued" in place.deliver()
    place.wait(lambda: stands(place)[0] is State.RUNNING)

    place.state.installations[owner].suspended = True
    assert installation(place, "suspend") == "errand"
    place.wait(lambda: stands(place) == (State.BLOCKED, Reason.OUT_OF_REACH))
    assert "suspended" in place.queue.tasks()[0].detail
    assert not place.world.pulls(place.repository.id)

    place.state.installations[owner].suspended = False
    assert installation(place, "unsuspend") == "errand"
    place.wait(lambda: stands(place)[0] not in {State.QUEUED, State.RUNNING, State.BLOCKED})
    assert stands(place) == (State.IN_REVIEW, None), place.service.last_lines()
    assert len(place.world.pulls(place.repository.id)) == len(place.queue.attempts(1)) == 1


def test_an_archived_repository_gets_nothing_and_its_work_when_it_is_back(place: Place) -> None:
    place.issue(place.case.label)
    place.deliver()
    place.wait(lambda: stands(place)[0] is State.RUNNING)
    place.world.archive(place.repository.id)
    assert repository(place, "archived") == "errand"
    place.wait(lambda: stands(place) == (State.BLOCKED, Reason.OUT_OF_REACH))

    place.world._set_repository(place.repository.id, "archived", 0)
    assert repository(place, "unarchived") == "errand"
    place.wait(lambda: stands(place)[0] is State.IN_REVIEW)
    assert len(place.world.pulls(place.repository.id)) == 1


def test_what_happened_while_the_service_was_down_is_asked_for_and_done_once(swept: SweptPlace) -> None:
    swept.service.stop()
    address = f"{swept.service.address}/webhooks/github"
    swept.world.hooks.send_to(WebhookTarget(url=address, secret=SECRET, headers=GITHUB_HOOKS))
    swept.issue(swept.case.label)
    assert {hook.status for hook in swept.world.deliveries()} == {"failed"}

    swept.service.start()

    swept.wait(lambda: bool(swept.queue.tasks()) and stands(swept)[0] is State.IN_REVIEW)
    labelled = next(hook for hook in swept.world.deliveries() if hook.action == "labeled")
    assert labelled.status == "delivered" and labelled.attempts == 2, "it was sent again, as we asked"
    assert len(swept.world.pulls(swept.repository.id)) == 1
