"""Asking by the API: a run per issue, once per key, by the operator or a guest within the caps."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from app.api.application import api_application
from domain.guests import GUEST
from domain.model import IssueRef, Money, Reason, Usage
from domain.operators import OPERATOR
from domain.ports import Admitted, Delivery, Landing
from domain.states import State, Trigger
from tests.app.api.service import ISSUE, Service


def test_an_issue_gets_its_run_and_the_worker_works_on_it(service: Service) -> None:
    answer = service.client().post("/runs", json={"issue": ISSUE, "kind": "docs"})
    assert answer.status_code == 201
    run = answer.json()["run"]
    assert (run["state"], run["requested_by"], run["category"]) == ("queued", OPERATOR.login, "docs")
    assert run["title"] == "No tests"
    assert answer.headers["location"] == f"/api/v1/runs/{run['id']}"
    assert service.loop.turn()
    assert service.town.task.state is State.IN_REVIEW
    (pull,) = service.town.world.pulls(service.town.repository.id)
    assert pull.is_draft
    world, place = service.town.world, service.town.repository.id
    assert world.requested_reviewers(place, pull.number) == []


def test_asking_again_returns_the_same_run(service: Service) -> None:
    client = service.client()
    first = client.post("/runs", json={"issue": ISSUE}).json()["run"]
    for issue in (ISSUE, "local://acme/lamp/issues/1", "local:ACME/Lamp#1"):
        again = client.post("/runs", json={"issue": issue})
        assert (again.status_code, again.json()["run"]["id"]) == (200, first["id"])
    assert len(service.town.queue.tasks()) == 1


def test_a_key_counts_once_and_is_bound_to_its_request(service: Service) -> None:
    service.hears = False
    client = service.client()
    key = {"Idempotency-Key": "k-1"}
    first = client.post("/runs", json={"issue": ISSUE}, headers=key)
    assert (first.status_code, first.json()["run"], first.json()["decision"]) == (202, None, None)
    again = client.post("/runs", json={"issue": ISSUE}, headers=key)
    assert again.json()["delivery"] == first.json()["delivery"]
    other = client.post("/runs", json={"issue": ISSUE, "kind": "docs"}, headers=key)
    assert (other.status_code, other.json()["name"]) == (422, "key_reused")
    service.loop.shop.desk.clear()
    told = client.get(f"/deliveries/{first.json()['delivery']}").json()
    assert (told["provider"], told["decision"]) == ("operator", "run: queued")


def test_a_cancelled_run_begins_anew_for_the_operator(service: Service) -> None:
    client = service.client()
    run = client.post("/runs", json={"issue": ISSUE}).json()["run"]
    cancelled = client.post(f"/runs/{run['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["run"]["state"]) == (200, "cancelled")
    again = client.post("/runs", json={"issue": ISSUE}).json()
    assert (again["run"]["id"], again["run"]["state"]) == (run["id"], "queued")


@pytest.mark.parametrize(
    ("issue", "status", "name"),
    [
        ("https://github.com/acme/lamp/issues/1", 403, "not_served"),
        ("local:acme/other#1", 403, "not_served"),
        ("https://evil.example/acme/lamp/issues/1", 422, "no_issue"),
        ("https://github.com/acme/lamp/pull/1", 422, "no_issue"),
        ("http://[::1", 422, "no_issue"),
        ("local:acme/lamp#0", 422, "no_issue"),
        ("local:acme/lamp#1\n", 201, ""),
        ("", 422, "invalid_request"),
        ("x" * 5000, 422, "invalid_request"),
        ("local:acme/lamp#999", 409, "not_begun"),
    ],
)
def test_what_names_no_issue_that_is_served_begins_nothing(
    service: Service, issue: str, status: int, name: str
) -> None:
    answer = service.client().post("/runs", json={"issue": issue})
    assert answer.status_code == status
    assert answer.json().get("name", "") == name


def test_a_closed_issue_begins_nothing(service: Service) -> None:
    town = service.town
    issue = town.world.open_issue(town.repository.id, town.stranger, title="Old", body="")
    town.world.close_issue(issue, town.maintainer)
    answer = service.client().post("/runs", json={"issue": f"local:acme/lamp#{issue.number}"})
    assert (answer.status_code, answer.json()["name"]) == (409, "not_begun")
    assert "closed" in answer.json()["problem"]


def test_retry_and_cancel_are_refused_where_they_make_no_sense(service: Service) -> None:
    client = service.client()
    run = client.post("/runs", json={"issue": ISSUE}).json()["run"]
    answer = client.post(f"/runs/{run['id']}/retry")
    assert (answer.status_code, answer.json()["name"]) == (409, "not_now")
    task = service.town.queue.claim("worker/one", 60)
    assert task is not None
    service.town.queue.move(task, Trigger.BLOCKED, Landing(reason=Reason.NO_CHANGE))
    answer = client.post(f"/runs/{run['id']}/retry")
    assert (answer.status_code, answer.json()["run"]["state"]) == (200, "queued")
    assert client.post("/runs/99/cancel").status_code == 404


def test_an_approval_is_of_exactly_what_waits(service: Service) -> None:
    town = service.town
    issue = town.issue("docs")
    town.world.label(issue, town.maintainer, "plan-first")
    assert service.loop.turn()
    assert town.stands == (State.BLOCKED, Reason.AWAITING_APPROVAL)
    client = service.client()
    run = client.get(f"/runs/{town.task.id}").json()
    waiting = run["waiting"]
    assert waiting["gate"] == "plan"
    wrong = client.post(f"/runs/{run['id']}/approve", json={"name": "0" * 40})
    assert (wrong.status_code, wrong.json()["name"]) == (409, "another_waits")
    not_that = client.post(f"/runs/{run['id']}/publish", json={"name": waiting["name"]})
    assert (not_that.status_code, not_that.json()["name"]) == (409, "nothing_waits")
    right = client.post(f"/runs/{run['id']}/approve", json={"name": waiting["name"]})
    assert right.json()["run"]["state"] == "queued"
    assert right.json()["decision"].startswith("approve: plan-")
    assert town.task.requested_by.id == town.maintainer.id


def test_a_guest_may_begin_and_see_their_runs_and_nothing_else(service: Service) -> None:
    town = service.town
    private = town.issue("docs", title="A private matter")
    guest, operator = service.guest(), service.client()
    mine = guest.post("/runs", json={"issue": ISSUE})
    assert (mine.status_code, mine.json()["run"]["requested_by"]) == (201, GUEST.login)
    number = mine.json()["run"]["id"]
    assert [run["id"] for run in guest.get("/runs").json()["runs"]] == [number]
    others = next(task for task in town.queue.tasks() if task.issue == private)
    assert guest.get(f"/runs/{others.id}").status_code == 404
    assert guest.get(f"/runs/{others.id}/stream").status_code == 404
    taken = guest.post("/runs", json={"issue": f"local:acme/lamp#{private.number}"})
    assert (taken.status_code, taken.json()["name"]) == (409, "taken")
    assert "private" not in taken.text
    for path in ("approve", "publish", "cancel", "retry"):
        assert guest.post(f"/runs/{number}/{path}", json={"name": "0" * 40}).status_code == 401
    for path in ("/deliveries", "/deliveries/1", "/spend"):
        assert guest.get(path).status_code == 401
    assert guest.post("/deliveries/1/replay").status_code == 401
    assert guest.get("/runs", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert operator.post(f"/runs/{number}/cancel").status_code == 200
    assert guest.post("/runs", json={"issue": ISSUE}).json()["run"]["state"] == "cancelled"


def test_guests_have_so_many_runs_at_once(town_service: Service) -> None:
    town, guest = town_service.town, town_service.guest()
    for number in range(2):
        town.world.open_issue(town.repository.id, town.stranger, title=f"Issue {number}", body="")
    assert guest.post("/runs", json={"issue": "local:acme/lamp#1"}).status_code == 201
    full = guest.post("/runs", json={"issue": "local:acme/lamp#2"})
    assert (full.status_code, full.json()["name"]) == (429, "too_many_runs")
    assert int(full.headers["retry-after"]) > 0
    assert town_service.client().post("/runs", json={"issue": "local:acme/lamp#2"}).status_code == 201


@pytest.fixture
def town_service(service: Service) -> Service:
    return Service(service.town, guest_runs=1)


class _Held(Service):
    """Writes nothing down before it is let."""

    coming: asyncio.Event
    let: asyncio.Event

    async def _tell(self, delivery: Delivery) -> Admitted:
        self.coming.set()
        await self.let.wait()
        return await super()._tell(delivery)


def test_guests_who_ask_in_the_same_moment_are_counted(service: Service) -> None:
    town, held = service.town, _Held(service.town, guest_runs=1)
    town.world.open_issue(town.repository.id, town.stranger, title="Another", body="")
    transport = httpx.ASGITransport(api_application(held.parts(is_open=True)))

    async def ask() -> list[int]:
        held.coming, held.let = asyncio.Event(), asyncio.Event()
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
            first = asyncio.create_task(client.post("/runs", json={"issue": ISSUE}))
            await held.coming.wait()
            second = await asyncio.wait_for(
                client.post("/runs", json={"issue": "local:acme/lamp#2"}), timeout=30
            )
            held.let.set()
            return [(await first).status_code, second.status_code]

    assert asyncio.run(ask()) == [201, 429]


class _Overtaken(Service):
    """A maintainer asks for the same issue just before a guest's wish is written down."""

    async def _tell(self, delivery: Delivery) -> Admitted:
        issue = IssueRef(forge="local", repository_id=self.town.repository.id, number=1)
        self.town.world.label(issue, self.town.maintainer, "docs")
        self.town.deliver()
        return await super()._tell(delivery)


def test_a_guest_who_is_overtaken_sees_nothing_of_the_others_run(service: Service) -> None:
    taken = _Overtaken(service.town).guest().post("/runs", json={"issue": ISSUE})
    assert (taken.status_code, taken.json()["name"]) == (409, "taken")
    assert "No tests" not in taken.text


def test_guests_have_so_many_dollars_a_day(service: Service) -> None:
    town, guest = service.town, service.guest()
    guest.post("/runs", json={"issue": ISSUE})
    task = town.queue.claim("worker/one", 60)
    assert task is not None
    attempt = town.queue.begin_attempt(task)
    held = town.ledger.reserve(task, attempt, model="m", decide=lambda _: (1, Money("1.00")))
    town.ledger.settle(held, usage=Usage(input_tokens=1), cost=Money("1.00"), billed=None)
    town.world.open_issue(town.repository.id, town.stranger, title="Another", body="")
    full = guest.post("/runs", json={"issue": "local:acme/lamp#2"})
    assert (full.status_code, full.json()["name"]) == (429, "spent_for_today")


def test_guests_ask_so_often_within_an_hour(service: Service) -> None:
    guest = service.guest()
    answers = [guest.post("/runs", json={"issue": f"local:acme/lamp#{900 + n}"}) for n in range(31)]
    assert {answer.status_code for answer in answers[:30]} == {409}
    assert (answers[30].status_code, answers[30].json()["name"]) == (429, "asked_too_often")


def test_a_delivery_is_replayed_as_one_of_its_own(service: Service) -> None:
    town, client = service.town, service.client()
    issue = town.issue("docs")
    town.world.unlabel(issue, town.maintainer, "docs")
    town.deliver()
    service.loop.shop.desk.clear()
    assert town.task.state is State.CANCELLED
    town.world.label(issue, town.maintainer, "docs")
    labelled = [each for each in client.get("/deliveries").json()["deliveries"] if each["note"] == "docs"][-1]
    assert labelled["kind"] == "IssueLabelled"
    answer = client.post(f"/deliveries/{labelled['id']}/replay")
    assert (answer.status_code, answer.json()) == (200, {"admission": "signal", "run": town.task.id})
    assert client.post("/deliveries/999/replay").json()["name"] == "no_such_delivery"


def test_what_did_not_come_from_a_forge_is_not_replayed(service: Service) -> None:
    client = service.client()
    delivery = client.post("/runs", json={"issue": ISSUE}).json()["delivery"]
    answer = client.post(f"/deliveries/{delivery}/replay")
    assert (answer.status_code, answer.json()["name"]) == (409, "not_replayable")


def test_spend_is_told_by_run(service: Service) -> None:
    town, client = service.town, service.client()
    client.post("/runs", json={"issue": ISSUE})
    task = town.queue.claim("worker/one", 60)
    assert task is not None
    attempt = town.queue.begin_attempt(task)
    town.ledger.reserve(task, attempt, model="m", decide=lambda _: (1, Money("0.25")))
    spend = client.get("/spend").json()
    assert (spend["spent_usd"], spend["spent_today_usd"]) == ("0.250000000", "0.250000000")
    assert (spend["lines"][0]["run"], spend["lines"][0]["open_usd"]) == (task.id, "0.250000000")
    assert client.get("/spend", params={"day": "2001-01-01"}).json()["lines"] == []
    assert client.get("/spend", params={"day": "yesterday"}).status_code == 422
