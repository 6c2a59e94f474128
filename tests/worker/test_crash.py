"""The worker dies before each call to store, forge and git in turn; the next one makes it good."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from domain.envelope import unwrap
from domain.model import IssueRef, Money, Outcome, PublicationKind
from domain.policy import MAX_RECOVERIES
from domain.ports import Agent
from domain.states import State
from evals.crash.fuse import Fuse, Fused, FusedGit, Killed
from providers.local.forge import LocalForge
from store.receipts import read_receipts
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, UNCLEAR, WRITE, Town, caps, plays
from worker.loop import Loop

CALL = Money("0.0014")
"""What one of the scripted agent's calls costs."""


@dataclass(frozen=True)
class Journey:
    """How a task goes when nobody dies; `dies_from` names the call before which the first death comes."""

    name: str
    agents: Callable[[], tuple[Agent, ...]]
    limits: dict[str, int]
    dies_from: str


SHARES = 6
"""Into how many tests a journey's points of death are dealt out."""

QUICK = {("verified", 0), ("unclear", 1)}
"""The shares that stand for the others when time is short."""

JOURNEYS = [
    Journey("verified", lambda: (plays(WRITE),), {}, "save_verdict"),
    Journey("limit", lambda: (plays(WRITE, "true", "true"),), {"max_iterations": 2}, "note_progress"),
    Journey("unclear", lambda: (plays(WRITE, said=UNCLEAR),), {}, "save_report"),
    Journey("withheld", lambda: (plays("touch code.py"),), {"max_attempts": 1}, "save_verdict"),
]


@dataclass(frozen=True)
class Ending:
    """All that must be the same, whoever died on the way."""

    state: State
    outcomes: tuple[Outcome | None, ...]
    attempts: int
    spent: Money
    branches: int
    pulls: int
    comments: tuple[str, ...]
    published: tuple[PublicationKind, ...]


def ending(town: Town, issue: IssueRef) -> Ending:
    task = town.task
    return Ending(
        state=task.state,
        outcomes=tuple(town.outcomes),
        attempts=task.attempts,
        spent=town.ledger.spent_on_task(task.id),
        branches=len(town.branches),
        pulls=len(town.world.pulls(town.repository.id)),
        comments=tuple(comment.body.split("\n")[0] for comment in town.said(issue)),
        published=tuple(p.kind for p in town.queue.publications(task.id) if p.done_at is not None),
    )


def fused_loop(town: Town, journey: Journey, fuse: Fuse, life: str) -> Loop:
    return town.loop(
        *journey.agents(),
        caps=caps(**journey.limits),
        forge=Fused(LocalForge(town.root / "forge"), fuse),  # type: ignore[arg-type]  # any port
        queue=Fused(town.queue, fuse),  # type: ignore[arg-type]
        ledger=Fused(town.ledger, fuse),  # type: ignore[arg-type]
        runner=FusedGit(town.root / "git-home", fuse=fuse),
        life=life,
    )


def turning_points(calls: list[str], first: int) -> list[int]:
    """Return the calls to die before, from `first` on; of git commands in a row, the first and any push.

    What git does between two of our writes only computes.
    """
    return [
        at
        for at in range(first, len(calls) + 1)
        if not calls[at - 1].startswith("git ")
        or calls[at - 1] == "git push"
        or not calls[at - 2].startswith("git ")
    ]


def live_on(town: Town, journey: Journey) -> None:
    """Start a new life on the same files, and work until nothing is left to do."""
    town.close()
    town.reopen()
    loop = town.loop(*journey.agents(), caps=caps(**journey.limits), life="two")
    town.workspaces.sweep()
    while loop.turn():
        assert town.task.recoveries <= MAX_RECOVERIES


CASES = [
    pytest.param(
        journey,
        share,
        id=f"{journey.name}-{share}",
        marks=[] if (journey.name, share) in QUICK else [pytest.mark.long],
    )
    for journey in JOURNEYS
    for share in range(SHARES)
]


@pytest.mark.long
@pytest.mark.parametrize(("journey", "share"), CASES)
def test_a_death_before_any_call_changes_nothing_in_the_end(
    build: BuildTown, journey: Journey, share: int
) -> None:
    undisturbed = build(NOTES)
    issue = undisturbed.issue("docs")
    fuse = Fuse()
    fused_loop(undisturbed, journey, fuse, "one").turn()
    expected = ending(undisturbed, issue)
    first = len(fuse.calls) - fuse.calls[::-1].index(journey.dies_from)

    for at in turning_points(fuse.calls, first)[share::SHARES]:
        town = build(NOTES)
        issue = town.issue("docs")
        with pytest.raises(Killed):
            fused_loop(town, journey, Fuse(at), "one").turn()
        live_on(town, journey)

        assert ending(town, issue) == expected, f"died before call {at}, {fuse.calls[at - 1]}"
        assert not list((town.root / "ground" / "work").iterdir())


@pytest.mark.long
def test_a_death_in_the_middle_of_the_work_costs_one_step_at_most(build: BuildTown) -> None:
    journey = Journey("steps", lambda: (plays(WRITE, "true"),), {}, "")
    undisturbed = build(NOTES)
    issue = undisturbed.issue("docs")
    fuse = Fuse()
    fused_loop(undisturbed, journey, fuse, "one").turn()
    expected = ending(undisturbed, issue)
    work = [at for at, name in enumerate(fuse.calls, 1) if name in {"reserve", "settle", "note_progress"}]

    for at in work:
        town = build(NOTES)
        issue = town.issue("docs")
        with pytest.raises(Killed):
            fused_loop(town, journey, Fuse(at), "one").turn()
        live_on(town, journey)

        after = ending(town, issue)
        assert expected.spent <= after.spent <= expected.spent + CALL
        assert (after.state, after.outcomes) == (expected.state, expected.outcomes)
        assert (after.pulls, after.branches, len(after.comments)) == (1, 1, len(expected.comments))


@pytest.mark.long
def test_a_limit_that_was_raised_meanwhile_goes_on_from_our_own_push(notes: Town) -> None:
    """The unfinished work is on its branch, the task was not moved yet; the next life has steps left."""
    journey = Journey("raised", lambda: (plays(WRITE, "echo more >> README.md"),), {"max_iterations": 1}, "")
    notes.issue("docs")

    class LastWord(Fuse):
        """Blows before the first move that this worker makes."""

        def burn(self, name: str) -> None:
            self.at = len(self.calls) + 1 if name == "move" else 0
            super().burn(name)

    with pytest.raises(Killed):
        fused_loop(notes, journey, LastWord(), "one").turn()
    assert len(notes.branches) == 1 and notes.task.state is State.RUNNING
    live_on(notes, Journey("raised", journey.agents, {}, ""))

    assert notes.task.state is State.IN_REVIEW
    assert len(notes.branches) == len(notes.world.pulls(notes.repository.id)) == 1


@pytest.mark.long
@pytest.mark.parametrize("before", ["git push", "ensure_pull", "published", "move", "add_comment"])
def test_kill_nine_at_the_turning_points(build: BuildTown, before: str) -> None:
    journey = JOURNEYS[0]
    undisturbed = build(NOTES)
    issue = undisturbed.issue("docs")
    fuse = Fuse()
    fused_loop(undisturbed, journey, fuse, "one").turn()
    at = len(fuse.calls) - fuse.calls[::-1].index(before)
    town = build(NOTES)
    theirs = town.issue("docs")
    town.close()

    child = multiprocessing.get_context("fork").Process(target=_die, args=(town, journey, at))
    child.start()
    child.join(60)

    assert child.exitcode == -signal.SIGKILL
    live_on(town, journey)
    assert ending(town, theirs) == ending(undisturbed, issue)


def _die(town: Town, journey: Journey, at: int) -> None:
    town.reopen()
    fused_loop(town, journey, Fuse(at, really=True), "one").turn()
    os._exit(0)


@pytest.mark.long
def test_a_task_that_always_kills_the_worker_is_set_aside(notes: Town) -> None:
    issue = notes.issue("docs")
    other = notes.world.open_issue(notes.repository.id, notes.stranger, title="Healthy")
    came_back = []
    for life in range(MAX_RECOVERIES + 1):
        loop = notes.loop(_Poison(), life=f"life-{life}")
        began = notes.clock.now()
        with pytest.raises(Killed):
            while True:
                loop.turn()
                notes.clock.forward(seconds=15)
        came_back.append((notes.clock.now() - began).total_seconds())
    notes.world.label(other, notes.maintainer, "docs")
    notes.deliver()
    notes.loop(plays(WRITE), life="last").turn()

    tasks = {task.issue.number: task for task in notes.queue.tasks()}
    poisoned, healthy = tasks[issue.number], tasks[other.number]
    assert (poisoned.state, poisoned.reason) == (State.BLOCKED, "crash_loop")
    assert [a.outcome for a in notes.queue.attempts(poisoned.id)] == [Outcome.ORPHANED]
    assert poisoned.attempts == 0
    assert came_back == [0, 0, 0, 30, 60, 120]
    assert "stopped the service several times" in notes.text(issue)
    assert healthy.state is State.IN_REVIEW


@pytest.mark.long
@pytest.mark.parametrize("retries", [0, 1])
def test_how_often_a_task_is_taken_up_again_can_be_set(notes: Town, retries: int) -> None:
    notes.issue("docs")
    for life in range(retries + 1):
        loop = notes.loop(_Poison(), life=f"life-{life}", max_task_retries=retries)
        with pytest.raises(Killed):
            loop.turn()
    notes.loop(plays(WRITE), life="last", max_task_retries=retries).turn()

    assert notes.stands == (State.BLOCKED, "crash_loop")
    assert notes.task.recoveries == retries
    (receipt,) = read_receipts(notes.database_path)
    attempt = unwrap(receipt.envelope).predicate["attempt"]
    assert isinstance(attempt, dict) and (attempt["outcome"], attempt["reason"]) == ("orphaned", "crash_loop")


class _Poison:
    """An agent whose work takes the worker's process with it."""

    def prestart(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, *_: object) -> object:
        raise Killed("exit 137")
