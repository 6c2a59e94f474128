"""From nothing to a draft: both processes without an App, the setup page, and then a label on an issue."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.demo.data_directory import data_directory
from app.demo.github.making import WEBHOOK_SECRET
from app.demo.service import Service
from app.github_app.stored import stored_app
from app.settings import inherited_environment
from domain.states import State
from tests.journeys.test_github import Place, pytestmark  # noqa: F401  # the same marks

GIVEN_BY_THE_APP = (
    "FIXWRIGHT_WEBHOOK_SECRET",
    "FIXWRIGHT_GITHUB_APP_ID",
    "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE",
)


class Waiting(Service):
    """A service whose worker waits before it listens."""

    def _worker_is_up(self) -> bool:
        return True


class NewPlace(Place):
    """The place of the journeys, where nobody has made an App yet."""

    secret = WEBHOOK_SECRET

    def _service(self, data: Path) -> Service:
        settings = {k: v for k, v in self._settings(data).items() if k not in GIVEN_BY_THE_APP}
        return Waiting(data, settings, inherited_environment())

    def code(self) -> str:
        """Read the code in the log."""
        found: list[str] = []

        def look() -> bool:
            lines = [line[line.find("{") :] for line in self.service.log.read_text().splitlines()]
            records = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
            found.extend(record["code"] for record in records if "code" in record)
            return bool(found)

        self.wait(look)
        return found[0]


@pytest.fixture
def place() -> Iterator[NewPlace]:
    with data_directory() as directory:
        place = NewPlace(directory.path)
        try:
            yield place
        finally:
            place.close()


def field(name: str, page: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def health(here: str) -> object:
    try:
        return httpx.get(f"{here}/healthz").json()
    except httpx.HTTPError:
        return None


def test_from_nothing_to_a_draft_without_a_restart_by_hand(place: NewPlace) -> None:
    here = place.service.address
    with httpx.Client(base_url=here, headers={"Origin": here}, follow_redirects=True, timeout=60) as browser:
        stamp = field("stamp", browser.get("/setup").text)
        page = browser.post("/setup/open", data={"code": place.code(), "stamp": stamp}).text
        wishes = {"stamp": field("stamp", page), "name": "fixwright-acme", "organization": "acme"}
        page = browser.post(
            "/setup/review", data={**wishes, "public_url": "https://fixwright.example.org"}
        ).text
        action = re.search(r'form method="post" action="([^"]+)"', page)
        assert action is not None
        done = browser.post(html.unescape(action[1]), data={"manifest": field("manifest", page)})
        assert "is made" in done.text
    assert stored_app(place.service.data / "service") is not None
    place.wait(lambda: (place.service.data / "service" / "worker.sock").exists())
    place.wait(lambda: health(here) == {"status": "ok"})
    place.issue(place.case.label)
    assert "queued" in place.deliver()
    place.wait(lambda: place.queue.tasks()[0].state not in {State.QUEUED, State.RUNNING})
    assert place.queue.tasks()[0].state is State.IN_REVIEW, place.service.last_lines()
    (pull,) = place.world.pulls(place.repository.id)
    assert pull.is_draft and pull.author == place.state.bot
    place.service.stop()
    assert place.state.broken == [] and place.state.tokens == {}
    log = place.service.log.read_text()
    assert WEBHOOK_SECRET not in log and "PRIVATE KEY" not in log and "Traceback" not in log
