"""The proof of the kills can fail: planted faults are reported, and a short form of it passes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.model import Actor, Attempt, Category, IssueRef, Money, Outcome, Reason, Task
from domain.states import State, Trigger
from evals.crash import remains
from evals.crash.agent import CALL, Bill
from evals.crash.fuse import Fuse, Killed
from evals.crash.journeys import DOCS, FIX, QUESTION, Journey
from evals.crash.judgement import Move, Remains, steps_lost, violations
from evals.crash.plans import chosen_steps, every_step, random_instants
from evals.crash.runs import Death, Plan, Result, play, prepare
from evals.crash.world import World

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TREE = "a" * 40
TASK = Task(
    id=1,
    issue=IssueRef(forge="local", repository_id="1", number=1),
    repository_name="acme/lamp",
    category=Category.DOCS,
    title="",
    body="",
    requested_by=Actor(id="1", login="mika"),
    state=State.IN_REVIEW,
    created_at=NOON,
    updated_at=NOON,
)
ATTEMPT = Attempt(id=1, task_id=1, number=1, started_at=NOON, outcome=Outcome.VERIFIED)
MOVES = [
    Move(trigger=Trigger.ADMITTED, came_from=None, went_to=State.QUEUED),
    Move(trigger=Trigger.CLAIMED, came_from=State.QUEUED, went_to=State.RUNNING),
    Move(trigger=Trigger.RELEASED, came_from=State.RUNNING, went_to=State.QUEUED),
    Move(trigger=Trigger.CLAIMED, came_from=State.QUEUED, went_to=State.RUNNING),
    Move(trigger=Trigger.PUBLISHED, came_from=State.RUNNING, went_to=State.IN_REVIEW),
]
GOOD = Remains(
    tasks=[TASK],
    moves=MOVES,
    attempts=[ATTEMPT],
    branches=["fixwright/issue-1"],
    pulls=["#2 fixwright/issue-1"],
    comments=[("In review", "fixwright:status-1"), ("Ready", "fixwright-once:review-1-2")],
    spent=3 * CALL,
    spent_on_attempts=[3 * CALL],
    calls_on_attempts=[3],
    billed=3 * CALL,
    billed_calls=3,
    receipts=[],
    published=[TREE],
    verified=[TREE],
    unfinished=0,
    steps=[[1, 2]],
    leftovers=[],
)
ILLEGAL = Move(trigger=Trigger.PUBLISHED, came_from=State.QUEUED, went_to=State.IN_REVIEW)


def test_what_is_as_it_must_be_is_not_complained_of() -> None:
    assert violations(GOOD, DOCS, kills=1) == []
    assert steps_lost(GOOD, DOCS) == 1


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"tasks": [TASK, TASK]}, "2 tasks"),
        ({"receipts": ["attempt 1 ended verified without one"]}, "without one"),
        ({"tasks": [replace(TASK, state=State.BLOCKED, reason=Reason.GUARD)]}, "ended blocked"),
        ({"attempts": [replace(ATTEMPT, outcome=None)]}, "attempts ended"),
        ({"unfinished": 1}, "never finished"),
        ({"moves": [MOVES[0], ILLEGAL]}, "is not in the table"),
        ({"moves": [MOVES[0], *MOVES[2:]]}, "but the task was queued"),
        ({"moves": MOVES[:2]}, "history ends running"),
        ({"moves": []}, "history ends None"),
        ({"branches": []}, "branches"),
        ({"branches": ["one", "two"]}, "branches"),
        ({"pulls": ["#2", "#3"], "published": [TREE, TREE]}, "pull requests"),
        ({"comments": [("one", "same"), ("two", "same")]}, "written 2 times"),
        ({"comments": [("same", "one"), ("same", "two")]}, "same words 2 times"),
        ({"comments": []}, "nobody was told"),
        ({"spent": 2 * CALL, "spent_on_attempts": [2 * CALL]}, "the provider charged"),
        ({"spent": Money(1), "spent_on_attempts": [Money(1)]}, "above the day's cap"),
        ({"spent": Money("0.06"), "spent_on_attempts": [Money("0.06")]}, "above its cap"),
        ({"calls_on_attempts": [21]}, "21 calls"),
        ({"spent_on_attempts": [CALL]}, "do not add up"),
        ({"billed_calls": 4}, "2 steps were made again"),
        ({"published": ["b" * 40]}, "published"),
        ({"verified": []}, "published"),
        ({"steps": [[1, 1, 2]]}, "transcript"),
        ({"leftovers": ["process sleep 600"]}, "left behind"),
    ],
)
def test_a_planted_fault_is_reported(planted: dict[str, object], said: str) -> None:
    found = violations(replace(GOOD, **planted), DOCS, kills=1)  # type: ignore[arg-type]  # by name

    assert any(said in problem for problem in found), found


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("worlds")
    for directory in (place, *place.parents[:2]):
        directory.chmod(0o711)
    prepare(place, [DOCS, QUESTION])
    return place


def dies_before(name: str, quiet: Result) -> Plan:
    return next(plan for plan in reversed(list(every_step(quiet))) if plan.what.endswith(f", {name}"))


@pytest.mark.long
def test_a_real_death_is_made_good_and_one_that_is_not_is_seen(templates: Path) -> None:
    quiet = play(Plan(journey=DOCS, deaths={}, what="nobody dies"), templates)
    assert quiet.problems == () and quiet.kills == 0 and "ensure_pull" in quiet.lives[0]

    killed = play(dies_before("ensure_pull", quiet), templates)

    assert (killed.kills, killed.problems, len(killed.lives)) == (1, (), 2)


@pytest.mark.long
def test_foreign_branches_and_an_unpaid_bill_are_reported(templates: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    World.build(tmp_path / "world", QUESTION)
    world = World(tmp_path / "world", QUESTION)
    world.loop().turn()
    forge, repository = world.forge, world.repository
    for name in ("one", "two"):
        forge.git.push(repository.id, name, {name: b"1\n"}, by=world.queue.tasks()[0].requested_by)
    Bill(world.root / "bill").charge()
    (world.root / "ground" / "work" / "task-9-1").mkdir()
    found = violations(remains.read(world), QUESTION, kills=0)
    world.close()

    assert [problem.split(":")[0] for problem in found] == [
        "branches",
        "the ledger has 0E-9, the provider charged 0.0014",
        "1 steps were made again after 0 kills",
        "left behind",
    ]


@pytest.mark.long
@pytest.mark.parametrize("journey", [DOCS, QUESTION], ids=["docs", "question"])
def test_a_choice_of_named_steps(journey: Journey, templates: Path) -> None:
    quiet = play(Plan(journey=journey, deaths={}, what="nobody dies"), templates)

    for plan in chosen_steps(quiet)[::3]:
        result = play(plan, templates)
        assert (result.problems, result.kills) == ((), 1), plan.what


@pytest.mark.long
def test_random_instants(templates: Path) -> None:
    quiet = [play(Plan(journey=DOCS, deaths={}, what="nobody dies"), templates)]

    for plan in random_instants(quiet, runs=6, seed=7, short=True):
        assert play(plan, templates).problems == (), plan.what


def quiet_result(journey: Journey, *lives: tuple[str, ...]) -> Result:
    return Result(
        plan=Plan(journey=journey, deaths={}, what=""),
        kills=0,
        lost=0,
        problems=(),
        lives=lives,
        seconds=tuple(1.0 for _ in lives),
    )


def test_every_step_of_every_life_has_its_death() -> None:
    quiet = quiet_result(DOCS, ("claim", "move"), ("claim",))

    assert [plan.deaths for plan in every_step(quiet)] == [
        {0: Death(at=1)},
        {0: Death(at=2)},
        {1: Death(at=1)},
    ]


def test_random_deaths_fall_within_the_run_and_are_the_same_for_a_seed() -> None:
    quiet = [quiet_result(FIX, ("a",), ("b",)), quiet_result(DOCS, ("a",))]
    plans = list(random_instants(quiet, runs=60, seed=3, short=False))

    assert plans == list(random_instants(quiet, runs=60, seed=3, short=False))
    assert {min(plan.deaths) for plan in plans} == {0, 1}
    assert all(0 <= (death.after or 0) <= 1 for plan in plans for death in plan.deaths.values())
    assert 0 < sum(len(plan.deaths) == 2 for plan in plans) < 30


def test_a_fuse_counts_what_changes_something_only_where_it_is_told_to() -> None:
    fuse = Fuse(at=3, every=False)
    for name in ("task", "git rev-parse", "move", "git push"):
        fuse.burn(name)
    assert fuse.calls == ["move", "git push"]
    with pytest.raises(Killed):
        fuse.burn("published")
    with pytest.raises(Killed):
        fuse.burn("task")


def test_processes_that_work_in_a_world_are_found(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execv("/bin/sleep", ["sleep", "600"])
    seen: Callable[[], list[str]] = lambda: remains.processes_of(tmp_path)  # noqa: E731
    try:
        while not any("sleep" in line for line in seen()):
            os.sched_yield()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert not any("sleep" in line for line in seen())
