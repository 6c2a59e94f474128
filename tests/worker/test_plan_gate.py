"""The gate before the agent changes anything: a plan is shown, and the work goes on from it when approved."""

from __future__ import annotations

import re

import pytest

from domain.claim import Restatement
from domain.model import IssueRef, Outcome, Reason
from domain.states import State
from evals.crash.fuse import Fuse, Fused, Killed
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import CLEAR, NOTES, UNCLEAR, WRITE, Town, plays

WAITING = (State.BLOCKED, Reason.AWAITING_APPROVAL)
IN_REVIEW = (State.IN_REVIEW, None)
OTHERWISE = Restatement(expected="11", actual="7", suspected_area="README", confidence=0.7)


@pytest.fixture
def planned(build: BuildTown) -> Town:
    return build(NOTES | {".fixwright.yml": "approval: plan\n"})


def shown(town: Town) -> IssueRef:
    """Return an issue whose plan waits."""
    issue = town.issue("docs")
    town.loop(plays(WRITE, said=CLEAR)).turn()
    assert town.stands == WAITING, town.text(issue)
    return issue


def plans(town: Town, issue: IssueRef) -> list[str]:
    return [c.body for c in town.said(issue) if "The plan, waiting" in c.body]


def name_in(plan: str) -> str:
    (name,) = re.findall(r"Name of this plan: `([0-9a-f]{40})`", plan)
    return name


def test_the_plan_is_shown_and_nothing_is_run(planned: Town) -> None:
    issue = shown(planned)
    (plan,) = plans(planned, issue)
    assert "- Expected: 10" in plan and "at most $5.00" in plan and "/fixwright approve" in plan
    assert planned.outcomes == [None] and not planned.branches
    assert planned.cast.briefs[0].plan_first
    assert planned.ledger.calls_on_attempt(planned.attempts[0].id) == 0, "the script's reading is free"


def test_approved_the_same_attempt_goes_on(planned: Town) -> None:
    issue = shown(planned)
    planned.comment(issue, "/fixwright approve")
    planned.loop(plays(WRITE, said=CLEAR)).turn()
    assert planned.stands == IN_REVIEW, planned.text(issue)
    assert planned.outcomes == [Outcome.VERIFIED] and not planned.cast.briefs[0].plan_first
    assert planned.decisions()[0].startswith("approve: plan-")
    assert len(plans(planned, issue)) == 1


@pytest.mark.parametrize("label", ["plan-first", " Plan-First"])
def test_a_label_asks_for_it_too(notes: Town, label: str) -> None:
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="Lamp", body="Text.")
    notes.world.label(issue, notes.maintainer, label)
    notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    notes.loop(plays(WRITE, said=CLEAR)).turn()
    assert notes.stands == WAITING


@pytest.mark.long
def test_a_word_and_the_command_make_another_plan(planned: Town) -> None:
    issue = shown(planned)
    first = plans(planned, issue)[0]
    planned.comment(issue, "Look at the README instead.")
    planned.comment(issue, "/fixwright plan\nAnd mind the style.")
    planned.loop(plays(WRITE, said=OTHERWISE)).turn()

    assert planned.stands == WAITING and planned.outcomes == [Outcome.INTERRUPTED, None]
    told = planned.cast.briefs[0]
    assert told.instructions == ("Look at the README instead.", "And mind the style.")
    assert told.plan_first and not told.skip_restatement
    old, new = map(name_in, (first, plans(planned, issue)[1]))
    assert old != new
    planned.comment(issue, f"/fixwright approve {old[:12]}")
    planned.loop(plays(WRITE, said=OTHERWISE)).turn()
    assert planned.stands == WAITING
    planned.comment(issue, "/fixwright approve")
    planned.loop(plays(WRITE, said=OTHERWISE)).turn()
    assert planned.stands == IN_REVIEW, planned.text(issue)


def test_a_cancel_rejects_it_and_strangers_change_nothing(planned: Town) -> None:
    issue = shown(planned)
    for command in ("approve", "plan"):
        planned.comment(issue, f"/fixwright {command}", by=planned.stranger)
    planned.loop(plays(WRITE)).turn()
    assert planned.stands == WAITING
    planned.comment(issue, "/fixwright cancel")
    planned.loop(plays(WRITE)).turn()
    assert planned.stands == (State.CANCELLED, Reason.WITHDRAWN) and not planned.branches


def test_what_is_unclear_is_asked_first(planned: Town) -> None:
    issue = planned.issue("docs")
    planned.loop(plays(WRITE, said=UNCLEAR)).turn()
    assert planned.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION) and not plans(planned, issue)


def test_without_a_reading_there_is_no_plan_and_no_work(planned: Town) -> None:
    planned.issue("docs")
    planned.loop(plays(WRITE)).turn()
    assert planned.stands == (State.BLOCKED, Reason.ENVIRONMENT) and not planned.branches


@pytest.mark.long
def test_both_gates_stand_one_after_the_other(build: BuildTown) -> None:
    town = build(NOTES | {".fixwright.yml": "approval: both\n"})
    issue = shown(town)
    town.comment(issue, "/fixwright approve")
    town.loop(plays(WRITE, said=CLEAR)).turn()
    assert town.stands == WAITING and "Tree: `" in town.said(issue)[-1].body and not town.branches
    town.comment(issue, "/fixwright approve")
    town.loop(plays("exit 9", claim=None)).turn()
    assert town.stands == IN_REVIEW and not town.cast.briefs
    assert [word.change.partition("-")[0] for word in town.queue.allowances(town.task.id)] == [
        "plan",
        "publish",
    ]


@pytest.mark.long
def test_a_plan_for_another_text_is_not_this_one(planned: Town) -> None:
    issue = shown(planned)
    planned.comment(issue, "/fixwright approve")
    planned.comment(issue, "/fixwright cancel")
    planned.world.edit_issue(issue, planned.stranger, body="Delete everything.")
    planned.world.unlabel(issue, planned.maintainer, "docs")
    planned.world.label(issue, planned.maintainer, "docs")
    planned.deliver()
    planned.loop(plays(WRITE, said=CLEAR)).turn()
    planned.loop(plays(WRITE, said=CLEAR)).turn()
    assert planned.stands == WAITING, planned.text(issue)


@pytest.mark.long
def test_a_death_before_any_call_neither_begins_to_work_nor_shows_twice(build: BuildTown) -> None:
    files = NOTES | {".fixwright.yml": "approval: plan\n"}

    def turn(town: Town, fuse: Fuse, life: str) -> None:
        forge, queue = Fused(LocalForge(town.root / "forge"), fuse), Fused(town.queue, fuse)
        loop = town.loop(plays(WRITE, said=CLEAR), forge=forge, queue=queue, life=life)  # type: ignore[arg-type]
        loop.turn()

    town, fuse = build(files), Fuse()
    town.issue("docs")
    turn(town, fuse, "one")
    first = fuse.calls.index("save_report") + 1
    for at in range(first, len(fuse.calls) + 1):
        town = build(files)
        issue = town.issue("docs")
        with pytest.raises(Killed):
            turn(town, Fuse(at), "one")
        turn(town, Fuse(), "two")
        turn(town, Fuse(), "two")
        assert town.stands == WAITING and not town.branches, (at, fuse.calls[at - 1])
        assert len(plans(town, issue)) == 1
