"""Gates: names in commands, what waits, and which word lets it through."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.approving import (
    ApproveRefusal,
    Gate,
    Waiting,
    decide_approval,
    named_in,
    plan_waiting,
    waiting_at,
)
from domain.claim import Restatement
from domain.events import Verb, parse_command
from domain.model import Attempt, Reason
from domain.states import State
from tests.harness.text_makers import NOW, TREE, a_task, a_verdict

RESTATED = Restatement(expected="10", actual="7", confidence=0.9)
TASK = replace(a_task(), state=State.BLOCKED, reason=Reason.AWAITING_APPROVAL)
OPEN = Attempt(id=1, task_id=7, number=1, started_at=NOW)
CHANGE = Waiting(gate=Gate.PUBLISH, name=TREE, attempt_id=1)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("/fixwright approve", ""),
        ("/fixwright approve ABCDEF0", "abcdef0"),
        ("@fixwright approve abcdef0\r\nand more", "abcdef0"),
        ("\ufeff/FIXWRIGHT\tAPPROVE  x ", "x"),
    ],
)
def test_a_name_is_read_from_the_first_line(line: str, name: str) -> None:
    assert parse_command(line) is Verb.APPROVE
    assert named_in(line) == name


@pytest.mark.parametrize(
    "line",
    [
        "> /fixwright approve",
        " /fixwright approve",
        "/fixwright approve a b",
        "approve",
        "`/fixwright approve`",
    ],
)
def test_what_only_looks_like_a_word_is_none(line: str) -> None:
    assert parse_command(line) is not Verb.APPROVE
    assert named_in(line) == ""


def test_what_waits_follows_from_the_open_attempt() -> None:
    verdict = a_verdict(tree=TREE)
    assert waiting_at(TASK, OPEN, verdict, RESTATED) == CHANGE
    assert waiting_at(TASK, OPEN, None, RESTATED) == plan_waiting(TASK, OPEN, RESTATED)
    assert waiting_at(TASK, OPEN, None, None) is None
    assert waiting_at(TASK, None, verdict, None) is None
    assert waiting_at(replace(TASK, reason=Reason.GUARD), OPEN, verdict, None) is None
    assert waiting_at(replace(TASK, state=State.QUEUED), OPEN, verdict, None) is None


def test_a_plan_stands_for_one_reading_of_one_text() -> None:
    plan = plan_waiting(TASK, OPEN, RESTATED)
    assert len(plan.name) == 40 and plan.word == f"plan-{plan.name}-1" and len(plan.word) <= 72
    assert plan != plan_waiting(replace(TASK, body="Another text."), OPEN, RESTATED)
    assert plan != plan_waiting(TASK, OPEN, RESTATED.model_copy(update={"actual": "8"}))


@pytest.mark.parametrize(
    ("named", "is_seen", "decision"),
    [
        ("", True, CHANGE),
        ("", False, ApproveRefusal.UNSEEN),
        (TREE, False, CHANGE),
        (TREE[:7], False, CHANGE),
        (TREE[:6], True, ApproveRefusal.ANOTHER),
        ("0" * 40, True, ApproveRefusal.ANOTHER),
        (TREE + "0", True, ApproveRefusal.ANOTHER),
    ],
)
def test_a_word_lets_through_what_it_names(named: str, is_seen: bool, decision: object) -> None:
    assert decide_approval(CHANGE, named, is_seen=is_seen) == decision


def test_where_nothing_waits_nothing_is_let_through() -> None:
    assert decide_approval(None, TREE, is_seen=True) is ApproveRefusal.NOTHING_WAITS
