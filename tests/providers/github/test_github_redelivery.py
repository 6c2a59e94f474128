"""Deliveries that GitHub could not hand over are asked for again: ours, not for ever, and not all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from app.demo.github.state import Fault
from domain.policy import Serving, admit
from domain.ports import Clock
from providers.github.forge import GithubForge
from providers.webhooks import GitHubShapedDialect
from store.database import Database
from store.inbox import SqliteInbox
from store.redeliveries import SqliteRedeliveries
from tests.providers.github.stage import GithubStage
from tests.store.makers import CATEGORIES, delivery, labelled
from worker.redelivery import MOST_AT_ONCE, PAUSES, Redeliverer

ATTEMPTS = r"/app/hook/deliveries/\d+/attempts"


@dataclass
class Ahead(Clock):
    """GitHub's time, and more as it is told."""

    ahead: timedelta = field(default_factory=timedelta)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return self.now().timestamp()


class Office:
    """A redeliverer on one GitHub, its memory, and what it asked for."""

    def __init__(self, stage: GithubStage, forge: GithubForge, repository_id: str) -> None:
        self.stage, self.forge, self.repository_id = stage, forge, repository_id
        self.database = Database(":memory:")
        self.database.migrate()
        self.clock = Ahead()
        self.serving = Serving(
            repositories=frozenset(f"github:{name}" for name in stage._names), own_ids={}, labels=CATEGORIES
        )

    def miss(self, event: str = "issues", repository_id: str | None = None, *, hours_ago: float = 0) -> str:
        """Let a delivery fail; returns its guid."""
        guid = self.stage.miss_delivery()
        record = self.stage.state.deliveries[-1]
        at = datetime.now(UTC) - timedelta(hours=hours_ago)
        place = self.repository_id if repository_id is None else repository_id
        record |= {
            "event": event,
            "repository_id": int(place) if place else None,
            "delivered_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        }
        return guid

    def round(self) -> list[str]:
        """Go round once, as a new process would; returns what was asked for, by guid."""
        self.stage.state.seen.clear()
        record = SqliteRedeliveries(self.database)
        for pause in Redeliverer(record, {"github": self.forge}, self.serving, self.clock).steps():
            assert pause == 0
        numbers = {each["id"]: each["guid"] for each in self.stage.state.deliveries}
        asked = [seen.path.split("/")[4] for seen in self.stage.state.seen if seen.method == "POST"]
        return [numbers[int(number)] for number in asked if number.isdigit() and int(number) in numbers]


@pytest.fixture
def office(stage: GithubStage, forge: GithubForge, repository_id: str) -> Iterator[Office]:
    office = Office(stage, forge, repository_id)
    yield office
    office.database.close()


def failing_again(stage: GithubStage) -> None:
    """Let GitHub's next sendings fail as well."""
    for record in stage.state.deliveries:
        if record["redelivery"]:
            record |= {"status_code": 504, "status": "timed out"}


def test_what_was_missed_is_asked_for_once_and_then_heard(office: Office) -> None:
    first, second = office.miss(hours_ago=2), office.miss("installation", "")
    assert office.round() == [first, second]
    assert office.round() == []


@pytest.mark.long
def test_what_is_not_ours_or_leads_to_nothing_is_left(office: Office, stage: GithubStage) -> None:
    office.miss(repository_id="999999")
    office.miss("push")
    office.miss("star")
    office.miss(hours_ago=73)
    assert office.round() == []


@pytest.mark.long
def test_what_came_after_all_is_not_asked_for(office: Office) -> None:
    """We answered too late for GitHub, and had written it down all the same."""
    guid = office.miss()
    inbox = SqliteInbox(office.database, CATEGORIES)
    known = replace(delivery(labelled(), guid), provider="github")
    inbox.accept([known], lambda event: admit(event, office.serving))
    assert office.round() == []


@pytest.mark.long
def test_one_that_fails_every_time_is_asked_for_later_and_later_and_then_no_more(
    office: Office, stage: GithubStage
) -> None:
    guid = office.miss()
    asked = []
    for _ in range(60):
        asked += office.round()
        failing_again(stage)
        office.clock.ahead += timedelta(hours=1)
        for record in stage.state.deliveries:  # it never grows too old
            at = office.clock.now()
            record["delivered_at"] = f"{at:%Y-%m-%dT%H:%M:%SZ}"
    assert asked == [guid] * len(PAUSES)


@pytest.mark.long
def test_many_are_asked_for_some_at_a_time_oldest_first(office: Office) -> None:
    guids = [office.miss(hours_ago=30 - number) for number in range(MOST_AT_ONCE + 5)]
    assert office.round() == guids[:MOST_AT_ONCE]
    assert office.round() == guids[MOST_AT_ONCE:]


@pytest.mark.long
@pytest.mark.parametrize("status", [404, 422, 502, 403])
def test_a_refusal_costs_that_delivery_a_try_and_breaks_nothing(
    office: Office, stage: GithubStage, status: int
) -> None:
    guids = [office.miss(hours_ago=2), office.miss(hours_ago=1)]
    stage.state.faults.append(Fault("POST", ATTEMPTS, status=status, times=1))
    office.round()
    office.clock.ahead = PAUSES[1] + timedelta(seconds=1)
    office.round()
    with office.database.read() as connection:
        rows = connection.execute("SELECT delivery_id, times FROM redeliveries").fetchall()
    assert {row["delivery_id"] for row in rows} == set(guids)
    assert all(row["times"] <= 2 for row in rows)


@pytest.mark.long
def test_a_list_that_cannot_be_had_now_is_asked_for_next_time(office: Office, stage: GithubStage) -> None:
    guid = office.miss()
    stage.state.faults.append(Fault("GET", "/app/hook/deliveries", times=9))
    assert office.round() == []
    stage.state.faults.clear()
    office.forge._api._gates.clear()
    assert office.round() == [guid]


def test_a_guid_is_a_delivery_id_that_the_door_takes() -> None:
    dialect = GitHubShapedDialect("github", "X-GitHub-Event", "X-GitHub-Delivery", "X-Hub-Signature-256")
    guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
    assert dialect.delivery_id([(b"x-github-delivery", guid.encode())]) == guid
