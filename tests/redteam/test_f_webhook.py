"""F: what strangers, bots, replays and floods of deliveries may bring about: nothing unasked for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from domain.errors import CapReached, ForgeUnavailable
from domain.events import IssueLabelled
from domain.model import Actor, IssueRef, Money, Permission, Reason, Repository
from domain.policy import admit
from domain.ports import Admission, AgentReport, Brief, Delivery, Meter, Observer, SandboxSession
from domain.states import State
from harness.agent.scripted import ScriptedAgent
from harness.meter import AttemptMeter
from harness.workspace import Workspaces
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from providers.local.plugin import LocalProvider
from tests.redteam.siege import FIXED, IN_REVIEW, Siege
from tests.worker.conftest import BuildTown, build  # noqa: F401 - plain towns, without a sandbox
from tests.worker.town import CLAIM, NOTES, PRICE, WRITE, Town, caps, plays

pytestmark = pytest.mark.long  # the rooms' own everyday tests show the most of it, each by itself

NOBODY = (State.CANCELLED, Reason.NOT_PERMITTED)


@pytest.fixture
def notes(build: BuildTown) -> Town:  # noqa: F811
    """A town with documentation and no tests: quick to verify."""
    return build(NOTES)


def assert_untouched(town: Town) -> None:
    assert not town.branches and not town.world.pulls(town.repository.id)
    assert all(town.ledger.spent_on_task(task.id) == 0 for task in town.queue.tasks())


def drain(town: Town, *, agent: ScriptedAgent | None = None) -> None:
    loop = town.loop(agent or plays(WRITE))
    for _ in range(20):
        if not loop.turn():
            return


# -- 115 to 118: who asks -------------------------------------------------------------------------------


def test_f115_an_old_delivery_that_comes_again_is_known_by_its_bytes(notes: Town) -> None:
    issue = notes.issue("docs")
    drain(notes)
    notes.world.close_issue(issue, notes.maintainer)
    notes.deliver()
    first = next(hook for hook in notes.world.deliveries() if b'"labeled"' in hook.payload)
    for guid in ("replayed-1", first.guid):
        notes._told.discard(first.guid)
        accepted = replay(notes, first.payload, guid)
        assert accepted == [Admission.DUPLICATE]
    assert len(notes.queue.tasks()) == 1


def replay(town: Town, payload: bytes, guid: str) -> list[object]:
    """Deliver the same bytes under an id, as somebody with an old recording would."""
    headers = [(b"x-fixwright-event", b"issues"), (b"x-fixwright-delivery", guid.encode())]
    delivery = Delivery(
        provider="local",
        delivery_id=guid,
        body_sha256=hashlib.sha256(payload).hexdigest(),
        body=payload,
        received_at=town.clock.now(),
        event=LocalProvider().dialect().parse(payload, headers),
    )
    return [
        each.admission for each in town.inbox.accept([delivery], lambda event: admit(event, town.serving))
    ]


def test_f115_an_old_delivery_with_changed_bytes_meets_the_issue_as_it_stands_now(notes: Town) -> None:
    issue = notes.issue("docs")
    drain(notes)
    (pull,) = notes.world.pulls(notes.repository.id)
    notes.world.merge_pull(notes.repository.id, pull.number, notes.maintainer)
    notes.world.close_issue(issue, notes.maintainer)
    notes.deliver()
    first = next(hook for hook in notes.world.deliveries() if b'"labeled"' in hook.payload)
    replay(notes, json.dumps(json.loads(first.payload), indent=3).encode(), "replayed-otherwise")
    drain(notes)
    assert [task.state for task in notes.queue.tasks()] == [State.DONE]
    assert len(notes.world.pulls(notes.repository.id)) == 1


@pytest.mark.parametrize("permission", [Permission.NONE, Permission.READ, Permission.TRIAGE])
def test_f117_who_may_not_write_starts_nothing(notes: Town, permission: Permission) -> None:
    eve = notes.world.create_user("eve")
    if permission is not Permission.NONE:
        notes.world.grant(notes.repository.id, eve, permission)
    issue = notes.world.open_issue(notes.repository.id, eve, title="t")
    notes.world.label(issue, eve, "docs")
    notes.deliver()
    drain(notes)
    assert notes.stands == NOBODY
    assert_untouched(notes)


def deleted(town: Town) -> None:
    town.world.delete_user(town.maintainer)


def demoted(town: Town) -> None:
    town.world.grant(town.repository.id, town.maintainer, Permission.TRIAGE)


@pytest.mark.parametrize("act", [deleted, demoted])
def test_f117_a_right_that_is_gone_when_the_work_begins_is_no_right(
    notes: Town, act: Callable[[Town], None]
) -> None:
    notes.issue("docs")
    act(notes)
    drain(notes)
    assert notes.stands == NOBODY
    assert_untouched(notes)


def test_f117_a_name_that_somebody_else_has_taken_over_gives_no_right(notes: Town) -> None:
    notes.world.rename_user(notes.maintainer, "mika-before")
    thief = notes.world.create_user("mika")
    issue = notes.world.open_issue(notes.repository.id, thief, title="t")
    notes.world.label(issue, thief, "docs")
    notes.deliver()
    drain(notes)
    assert notes.stands == NOBODY
    assert_untouched(notes)


def test_f117_a_permission_that_cannot_be_looked_up_starts_nothing(notes: Town) -> None:
    notes.issue("docs")
    fault = Fault(method="permission_of", times=9, error=ForgeUnavailable("503"))
    loop = notes.loop(plays(WRITE), forge=FaultyForge(LocalForge(notes.root / "forge"), [fault]))
    loop.turn()
    assert notes.task.state is State.QUEUED
    assert_untouched(notes)


BOTS = {
    "a bot by its type": Actor(id="77", login="dependabot", is_bot=True),
    "ourselves": None,
    "a bot with all rights": Actor(id="78", login="helper[bot]", is_bot=True),
}


@pytest.mark.parametrize("name", BOTS)
def test_f118_no_machine_s_label_starts_anything(notes: Town, name: str) -> None:
    bot = BOTS[name]
    who = notes.world.create_user(bot.login, is_bot=True) if bot else notes.world.bot
    notes.world.grant(notes.repository.id, who, Permission.ADMIN)
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="t")
    notes.world.label(issue, who, "docs")
    notes.deliver()
    drain(notes)
    assert notes.queue.tasks() == []
    assert_untouched(notes)


def test_f118_our_own_words_command_nothing(notes: Town) -> None:
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="t")
    notes.world.label(issue, notes.maintainer, "help wanted")
    notes.world.comment(issue, notes.world.bot, "/fixwright run")
    comment = notes.world.comment(issue, notes.maintainer, "nothing to see")
    notes.world.edit_comment(comment.id, notes.maintainer, "/fixwright run")
    notes.deliver()
    drain(notes)
    assert notes.queue.tasks() == []


# -- 119 and 120: where ----------------------------------------------------------------------------------


def test_f119_a_repository_that_is_not_listed_gets_no_task(notes: Town) -> None:
    other = notes.world.create_repository("acme/lamp2", files={"README.md": b"x\n"})
    notes.world.grant(other.id, notes.maintainer, Permission.ADMIN)
    issue = notes.world.open_issue(other.id, notes.stranger, title="t")
    notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    drain(notes)
    assert notes.queue.tasks() == []
    assert len(notes.world.pulls(other.id)) == 0


def test_f119_a_listed_name_that_now_belongs_to_another_repository_is_not_worked_on(notes: Town) -> None:
    """The delivery names the listed repository, and the id of one that is not."""
    other = notes.world.create_repository("evil/lamp", files={"README.md": b"x\n"})
    forged = IssueLabelled(
        issue=IssueRef(forge="local", repository_id=other.id, number=1),
        actor=notes.maintainer,
        repository_name="acme/lamp",
        label="docs",
        title="t",
        body="b",
    )
    notes.world.open_issue(other.id, notes.stranger, title="t")
    delivery = Delivery(
        provider="local", delivery_id="forged", body_sha256="f" * 64, body=b"{}",
        received_at=notes.clock.now(), event=forged,
    )  # fmt: skip
    notes.inbox.accept([delivery], lambda event: admit(event, notes.serving))
    drain(notes)
    assert not notes.world.pulls(other.id)
    assert_untouched(notes)


def archived(town: Town) -> None:
    town.world.archive(town.repository.id)


def closed(town: Town) -> None:
    town.world.close_issue(town.queue.tasks()[0].issue, town.maintainer)


def locked_out(town: Town) -> None:
    town.world.grant(town.repository.id, town.world.bot, Permission.NONE)


class Meanwhile(ScriptedAgent):
    """Lets something happen to its town when it has finished, before anything is published."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__([WRITE], CLAIM)
        self._happens = happens

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        report = super().run(brief, session, meter, observer)
        self._happens()
        return report


@pytest.mark.parametrize("act", [archived, closed, locked_out])
def test_f120_what_is_taken_away_meanwhile_stops_the_work_before_the_push(
    notes: Town, act: Callable[[Town], None]
) -> None:
    notes.issue("docs")

    def happens() -> None:
        act(notes)
        notes.deliver()

    notes.loop(Meanwhile(happens), caps=caps(max_attempts=1)).turn()
    assert notes.task.state in {State.CANCELLED, State.BLOCKED}, notes.stands
    assert not notes.world.pulls(notes.repository.id)


# -- 124 and 125: how much -------------------------------------------------------------------------------


def test_f124_fifty_labels_at_once_are_fifty_tasks_and_one_day_s_budget(notes: Town) -> None:
    for number in range(50):
        issue = notes.world.open_issue(notes.repository.id, notes.stranger, title=f"number {number}")
        for _ in range(2):
            notes.world.label(issue, notes.maintainer, "docs")
            notes.world.unlabel(issue, notes.maintainer, "docs")
        notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    assert len(notes.queue.tasks()) == 50
    assert len({task.issue for task in notes.queue.tasks()}) == 50
    cap = Money("0.006")
    loop = notes.loop(plays("true"), caps=caps(max_daily_cost_usd=cap, max_attempts=1))
    for _ in range(8):
        loop.turn()
    (day,) = notes.ledger.spend_by_day()
    assert day.spent <= cap


def test_f124_two_workers_never_have_one_task_between_them(siege: Siege) -> None:
    for number in range(4):
        siege.issue(title=f"number {number}")
    loops = [siege.loop(plays(*FIXED)) for _ in range(2)]
    for name, loop in zip(("one", "two"), loops, strict=True):
        loop.identity = f"{name}/a"
        own = Workspaces(siege.root / name, siege.workspaces.owner, siege.workspaces.runner)
        loop.shop = replace(loop.shop, bench=replace(loop.shop.bench, workspaces=own))
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(turns, loop) for loop in loops]:
            done.result()
    tasks = siege.queue.tasks()
    assert [len(siege.queue.attempts(task.id)) for task in tasks] == [1] * 4
    assert [(task.state, task.reason) for task in tasks] == [IN_REVIEW] * 4, [task.detail for task in tasks]
    assert len(siege.pulls) == 4


def turns(loop: object) -> None:
    for _ in range(6):
        loop.turn()  # type: ignore[attr-defined]  # a Loop


def test_f125_reservations_at_once_never_pass_a_cap(notes: Town) -> None:
    tasks = []
    for number in range(6):
        notes.issue("docs", title=f"number {number}")
    for _ in range(6):
        task = notes.queue.claim("w", 60)
        assert task is not None
        tasks.append((task, notes.queue.begin_attempt(task)))
    cap = Money("0.01")
    meters = [
        AttemptMeter(ledger=notes.ledger, task=task, attempt=attempt, caps=caps(max_daily_cost_usd=cap),
                     price=PRICE, model="m")
        for task, attempt in tasks
    ]  # fmt: skip
    gate = threading.Barrier(len(meters))

    def spend(meter: AttemptMeter) -> int:
        gate.wait()
        reserved = 0
        for _ in range(10):
            try:
                meter.reserve(1000, 100)
            except CapReached:
                return reserved
            reserved += 1
        return reserved

    with ThreadPoolExecutor(len(meters)) as pool:
        reserved = sum(pool.map(spend, meters))
    worst = PRICE.input * 1000 + PRICE.output * 100
    assert 0 < reserved * worst <= cap
    (day,) = notes.ledger.spend_by_day()
    assert day.spent <= cap


def test_f122_a_task_s_repository_that_has_become_another_is_not_worked_on(notes: Town) -> None:
    notes.issue("docs")

    class Swapped(LocalForge):
        """A forge that says of our repository that it is a different one now."""

        def repository(self, repository_id: str) -> Repository:
            return replace(super().repository(repository_id), archived=True)

    notes.loop(plays(WRITE), forge=Swapped(notes.root / "forge")).turn()
    assert notes.stands == (State.BLOCKED, Reason.OUT_OF_REACH)
    assert_untouched(notes)
