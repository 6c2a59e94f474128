"""Raising a cap: who may, by how much, once; and what a comment must say for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.budget import CapRaise, Caps, Spent, Standing, rooms
from domain.events import Verb, parse_command
from domain.model import Limit, Money
from domain.raising import RaiseRefusal, decide_raise, wanted_cap
from domain.states import State
from tests.harness.agent.world import a_task, caps

CAPS = caps(max_cost_per_task_usd=Money(1), max_raised_cost_per_task_usd=Money(3), max_attempts=2)
EARLIER = CapRaise(amount=Money(2), by="ann", at=datetime(2026, 3, 1, tzinfo=UTC), comment_id="c1")


@pytest.mark.parametrize(
    ("comment", "amount"),
    [
        ("/fixwright budget 3.00", "3"),
        ("/FIXWRIGHT Budget  $3 \r\nbecause it is a hard one", "3"),
        ("/fixwright budget 2.5 USD", "2.5"),
        ("/fixwright budget 0", "0"),
        ("/fixwright budget -3", None),
        ("/fixwright budget three", None),
        ("/fixwright budget 3,00", None),
        ("/fixwright budget 1e9", None),
        ("/fixwright budget inf", None),
        ("/fixwright budget unlimited", None),
        ("/fixwright budget \u0663", None),
        ("/fixwright budget", None),
        ("/fixwright budget " + "9" * 5000, None),
    ],
)
def test_a_budget_command_is_one_whatever_its_amount(comment: str, amount: str | None) -> None:
    assert parse_command(comment) is Verb.BUDGET
    assert wanted_cap(comment) == (None if amount is None else Money(amount))


@pytest.mark.parametrize(
    "comment",
    ["/fixwright budget is far too low", "> /fixwright budget 3", "/fixwright  budget3", "/fixwright run 3"],
)
def test_a_sentence_or_a_quotation_is_none(comment: str) -> None:
    assert parse_command(comment) is not Verb.BUDGET and wanted_cap(comment) is None


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ("3", Money(3)),
        ("1.000000001", Money("1.000000001")),
        ("1", RaiseRefusal.NOT_MORE),
        ("0", RaiseRefusal.NOT_MORE),
        ("3.000000001", RaiseRefusal.TOO_MUCH),
        (None, RaiseRefusal.NOT_AN_AMOUNT),
    ],
)
def test_a_maintainer_may_name_an_amount_between_the_cap_and_the_maximum(
    wanted: str | None, answer: Money | RaiseRefusal
) -> None:
    amount = None if wanted is None else Money(wanted)
    assert decide_raise(amount, a_task(), caps=CAPS, earlier=None, permitted=True) == answer


def test_a_stranger_an_ended_task_and_a_second_time_are_refused() -> None:
    task, wanted = a_task(), Money(2)
    said = [
        decide_raise(wanted, task, caps=CAPS, earlier=None, permitted=False),
        decide_raise(wanted, replace(task, state=State.DONE), caps=CAPS, earlier=None, permitted=True),
        decide_raise(wanted, task, caps=CAPS, earlier=EARLIER, permitted=True),
    ]
    assert said == [RaiseRefusal.NOT_PERMITTED, RaiseRefusal.ENDED, RaiseRefusal.AGAIN]


def test_where_the_maximum_is_no_more_than_the_cap_nobody_may() -> None:
    closed = replace(CAPS, max_raised_cost_per_task_usd=Money(0))
    for wanted in ("0.5", "1", "2"):
        answer = decide_raise(Money(wanted), a_task(), caps=closed, earlier=None, permitted=True)
        assert isinstance(answer, RaiseRefusal)


def spent(raised: CapRaise | None) -> Spent:
    return Spent(attempt=Money(1), task=Money(1), day=Money(1), service_day=Money(1), raised=raised)


@pytest.mark.parametrize(
    ("given", "attempt", "total"),
    [
        (CAPS, "1", "3"),
        (replace(CAPS, max_cost_per_task_usd=Money("0.1")), "1", "3"),
        (replace(CAPS, max_raised_cost_per_task_usd=Money("1.5")), "0.5", "2"),
        (replace(CAPS, max_raised_cost_per_task_usd=Money(0)), "0", "1"),
        (replace(CAPS, max_cost_per_task_usd=Money(5)), "4", "9"),
    ],
)
def test_a_raise_is_bounded_by_the_maximum_of_now_and_lowers_nothing(
    given: Caps, attempt: str, total: str
) -> None:
    left = rooms(given, spent(EARLIER))
    assert (left[Limit.TASK_COST], left[Limit.TASK_TOTAL]) == (Money(attempt), Money(total))
    assert left[Limit.DAILY_COST] == given.max_daily_cost_usd - 1


def test_a_standing_never_says_less_than_nothing_is_left() -> None:
    standing = Standing(caps=replace(CAPS, max_daily_cost_usd=Money("0.5")), spent=spent(None))
    assert standing.left(Limit.DAILY_COST) == 0
    assert standing.total == 2
