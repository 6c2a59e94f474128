"""Providers that lie or fail, a forge that goes away, a locked database, people who change their minds."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping

import pytest

from app.demo.scripted_model import Fault, Turn, bash
from app.demo.toolchain import BASE
from domain.model import IssueRef, Money, Permission, Reason
from domain.states import State
from tests.redteam.arena import FIX, Act, Arena, arena

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]

IN_REVIEW = (State.IN_REVIEW, None)
BUSY = [bash("sleep 3"), FIX, "sleep 2"]

FAULTS = {
    "429": (IN_REVIEW, Fault(status=429, headers={"Retry-After": "1"}, times=2)),
    "500": (IN_REVIEW, Fault(status=500, times=2)),
    "not JSON": (IN_REVIEW, Fault(status=200, body="<html>no", times=1)),
    "nothing": (IN_REVIEW, Fault(status=200, body="{}", times=1)),
    "dropped": (IN_REVIEW, Fault(kind="drop", times=1)),
    "refused": ((State.BLOCKED, Reason.ENVIRONMENT), Fault(status=401)),
}
NO_COMMANDS = ("> /fixwright run", "```\n/fixwright run\n```", "please /fixwright run", " /fixwright run")
LIES: list[Mapping[str, object] | None] = [
    {"prompt_tokens": -5, "completion_tokens": -9, "cost": -3},
    {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0},
    None,
    {"cost": "NaN"},
    {"cost": 1e999},
]


@pytest.mark.parametrize("name", FAULTS)
def test_a_provider_that_fails_is_never_paid_less_than_its_bill(name: str) -> None:
    expected, fault = FAULTS[name]
    with arena() as ground:
        task = ground.attack(Act([Turn(fault=fault), FIX]))
        assert (task.state, task.reason) == expected, task.detail
        assert ground.stage.ledger.spent_on_task(task.id) >= ground.model.total


def test_a_provider_that_lies_about_usage_is_paid_at_the_worst() -> None:
    with arena() as ground:
        task = ground.attack(Act([*(bash("ls", usage=usage) for usage in LIES), FIX]))
        assert (task.state, task.reason) == IN_REVIEW, task.detail
        assert ground.stage.ledger.spent_on_task(task.id) >= ground.model.total > 0


@pytest.mark.parametrize(
    "setting",
    ["MAX_COST_PER_TASK_USD", "MAX_DAILY_COST_USD", "MAX_DAILY_COST_TOTAL_USD", "MAX_ITERATIONS"],
    ids=str.lower,
)
def test_a_cap_of_zero_lets_no_call_out(setting: str) -> None:
    with arena(**{f"FIXWRIGHT_{setting}": "0"}) as ground:
        issue = ground.issue(Act([FIX]))
        ground.label(issue)
        ground.wait(lambda: re.search("Stopped|Waiting", _said(ground, issue)))
        assert ground.model.bill == ()


def test_f125_two_tasks_never_spend_more_than_the_day_s_cap() -> None:
    cap = Money("0.045")
    with arena(FIXWRIGHT_MAX_DAILY_COST_USD=str(cap)) as ground:
        issues = [ground.issue(Act([FIX]), title=f"number {n}") for n in range(3)]
        for issue in issues:
            ground.label(issue)
        ground.wait(lambda: all(re.search("Waiting|In review", _said(ground, issue)) for issue in issues))
        (day,) = ground.stage.ledger.spend_by_day()
        assert cap >= day.spent >= ground.model.total > 0


@pytest.mark.parametrize("seconds", [8, 20])
def test_a_database_that_is_locked_for_a_while_costs_only_time(seconds: int) -> None:
    with arena() as ground:
        issue = _under_way(ground)
        other = sqlite3.connect(ground.stage.service.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        other.execute("ROLLBACK")
        other.close()
        task = ground.settled(issue)
        assert (task.state, task.reason) == IN_REVIEW, task.detail
        assert ground.stage.ledger.spent_on_task(task.id) >= ground.model.total


@pytest.mark.parametrize("until_it_ends", [False, True])
def test_a_forge_that_is_gone_for_a_while_costs_only_time(until_it_ends: bool) -> None:
    with arena() as ground:
        issue = _under_way(ground)
        forge, elsewhere = ground.stage.data / "forge", ground.stage.data / "gone"
        forge.rename(elsewhere)
        if until_it_ends:
            ground.wait(lambda: _state(ground, issue) is not State.RUNNING)
        else:
            time.sleep(4)
        assert not forge.exists()
        elsewhere.rename(forge)
        task = ground.settled(issue)
        assert (task.state, task.reason) == IN_REVIEW, task.detail
        assert len(ground.pulls_of(task)) == 1


def test_f118_the_last_word_of_a_maintainer_counts_whoever_spoke_before() -> None:
    with arena() as ground:
        world, mika = ground.world, ground.stage.maintainer
        stranger = world.create_user("eve")
        robot = world.create_user("helper[bot]", is_bot=True)
        world.grant(ground.stage.repository.id, robot, Permission.ADMIN)
        busy = _under_way(ground)
        flapped = ground.issue(Act([FIX]), title="flapped")
        for act in (world.label, world.unlabel, world.label):
            act(flapped, mika, "bug")
        behind = ground.issue(Act([FIX]), title="behind a stranger")
        world.label(behind, stranger, "bug")
        world.comment(behind, mika, "/fixwright run")
        unasked = ground.issue(Act([FIX]), title="unasked")
        world.label(unasked, robot, "bug")
        for text in NO_COMMANDS:
            world.comment(unasked, mika, text)
        world.comment(unasked, stranger, "/fixwright run")
        world.unlabel(busy, mika, "bug")
        world.label(busy, mika, "bug")
        for issue in (flapped, behind, busy):
            ground.wait(lambda issue=issue: _state(ground, issue) is State.IN_REVIEW, what=str(issue))
        assert ground.task_of(unasked) is None


def _under_way(ground: Arena) -> IssueRef:
    """Return an issue that the agent is at work on."""
    issue = ground.issue(Act(BUSY))
    ground.label(issue)
    ground.wait(lambda: len(ground.model.bill) >= 2)
    return issue


def _state(ground: Arena, issue: IssueRef) -> State | None:
    task = ground.task_of(issue)
    return task.state if task else None


def _said(ground: Arena, issue: IssueRef) -> str:
    task = ground.task_of(issue)
    return ground.comments(task) if task else ""
