"""`/fixwright budget`: raised once, by whom it may be, in force at the next call; refusals said once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.model import IssueRef, Money, Reason
from domain.states import Note, State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from store.history import History
from tests.worker.town import PRICE, WRITE, Stage, Town, caps, plays

TIGHT = caps(
    max_cost_per_task_usd=Money("0.006"), max_raised_cost_per_task_usd=Money("0.012"), max_attempts=1
)
"""Room for four calls of a scripted agent; raised, for eight."""


def short(town: Town) -> IssueRef:
    """Let a task stop for want of money."""
    issue = town.issue("docs")
    town.loop(plays(*["true"] * 6, WRITE), caps=TIGHT).turn()
    assert town.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    return issue


def said(town: Town, issue: IssueRef) -> list[str]:
    """Return the answers to words about the budget."""
    bodies = [comment.body for comment in town.world.comments(issue)]
    return [body for body in bodies if body.startswith("**The budget")]


def hear(town: Town) -> None:
    assert not town.loop(plays(WRITE), caps=TIGHT).turn()


def test_a_raise_is_in_force_logged_and_said(notes: Town) -> None:
    issue = short(notes)
    notes.comment(issue, "/fixwright budget 0.012")
    hear(notes)

    (answer,) = said(notes, issue)
    assert "of at most $0.0120" in answer
    assert "`mika` raised the cap of one attempt to $0.0120 on 2026-03-01 12:00 UTC" in answer
    assert "`mika` raised the cap" in notes.world.comments(issue)[0].body, "the status says it too"
    note = History(notes.database).task_events(notes.task.id)[-1]
    assert (note.trigger, note.came_from, note.went_to) == (Note.BUDGET_RAISED, State.BLOCKED, State.BLOCKED)
    assert note.detail == "mika raised the cap of one attempt to $0.0120"

    notes.comment(issue, "/fixwright resume")
    notes.loop(plays("true", WRITE), caps=TIGHT).turn()
    assert notes.stands == (State.IN_REVIEW, None), notes.text(issue)
    assert Money("0.006") < notes.ledger.spent_on_task(notes.task.id) <= Money("0.012")
    assert "raised the cap" in notes.world.pulls(notes.repository.id)[0].body


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "by", "answer"),
    [
        ("/fixwright budget 0.010", "stranger", "Only somebody with write access"),
        ("/fixwright budget -1", "maintainer", "as an amount of US dollars"),
        ("/fixwright budget much", "maintainer", "as an amount of US dollars"),
        ("/fixwright budget 0.006", "maintainer", "allows $0.0060 per attempt as it is"),
        ("/fixwright budget 0.013", "maintainer", "allows up to $0.0120 per attempt"),
    ],
)
def test_a_refusal_is_said_once(notes: Town, word: str, by: str, answer: str) -> None:
    issue = short(notes)
    for _ in range(3):
        notes.comment(issue, word, by=getattr(notes, by))
        hear(notes)

    assert [answer in text for text in said(notes, issue)] == [True]
    assert notes.ledger.standing(notes.task).raised is None


@pytest.mark.long
def test_a_second_raise_changes_nothing_and_is_answered_once(notes: Town) -> None:
    issue = short(notes)
    for amount in ("0.010", "0.011", "0.012"):
        notes.comment(issue, f"/fixwright budget {amount}")
        hear(notes)

    assert ["raised before" in text for text in said(notes, issue)] == [False, True]
    raised = notes.ledger.standing(notes.task).raised
    assert raised is not None
    assert raised.amount == Money("0.010")


@pytest.mark.long
def test_a_running_attempt_may_use_it_at_its_next_call(notes: Town) -> None:
    issue = notes.issue("docs")
    stage = Stage()
    loop = notes.loop(plays("true", "true", "echo now", "true", "true", WRITE), caps=TIGHT, sandbox=stage)

    def raise_it() -> None:
        notes.comment(issue, "/fixwright budget 0.012")
        loop.shop.desk.clear()

    stage.cues["echo now"] = raise_it
    loop.turn()

    assert notes.stands == (State.IN_REVIEW, None), notes.text(issue)
    assert notes.ledger.spent_on_task(notes.task.id) == Money("0.0084")


@pytest.mark.long
def test_a_forge_that_takes_no_answer_now_is_asked_again_and_the_cap_is_raised_once(notes: Town) -> None:
    issue = short(notes)
    notes.comment(issue, "/fixwright budget 0.012")
    deaf = FaultyForge(LocalForge(notes.root / "forge"), [Fault(method="add_comment")])
    notes.loop(plays(WRITE), caps=TIGHT, forge=deaf).turn()
    assert said(notes, issue) == []
    hear(notes)

    (answer,) = said(notes, issue)
    assert "is raised" in answer
    assert [event.trigger for event in History(notes.database).task_events(notes.task.id)][-1:] == [
        Note.BUDGET_RAISED
    ]


@pytest.mark.long
def test_an_estimate_is_called_one_on_the_issue_and_in_the_pull_request(notes: Town) -> None:
    issue = notes.issue("docs")
    guess = replace(PRICE, estimated=True)
    notes.loop(plays(WRITE), price_of=lambda model: guess).turn()
    assert notes.stands == (State.IN_REVIEW, None)
    for text in (notes.world.comments(issue)[0].body, notes.world.pulls(notes.repository.id)[0].body):
        assert "$0.0014 of at most $10.00 (an estimate, since the model's price is not known)" in text
    status = notes.world.comments(issue)[0].body
    assert "the caps leave $10.00 for this repository and $20.00 for the whole service" in status
