"""The proof of the money in its short form: it holds, and it can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from domain.budget import ZERO
from domain.model import Attempt, Limit, Money, Task
from domain.ports import Ledger
from evals.spend_audit import Audit, Call
from evals.spend_proof import main
from evals.spend_provider import BEHAVIOURS
from evals.spend_world import CAPS, CheckingMeter, World
from harness.meter import AttemptMeter
from tests.harness.agent.world import PRICE, a_task, an_attempt


@pytest.fixture(autouse=True)
def without_logs() -> Iterator[None]:
    with capture_logs():
        yield


def test_whatever_two_hundred_tasks_meet_no_cap_is_passed() -> None:
    audit = World(path=":memory:", seed=3, tasks=200).run()
    assert audit.violations == []
    assert audit.seen.keys() >= {*BEHAVIOURS, "crashes", "stale workers stopped", "caps raised"}
    assert audit.seen.keys() >= {f"refused by {limit}" for limit in MONEY_LIMITS}, "each cap did bite"


@pytest.mark.long
def test_the_same_without_reservations_is_caught() -> None:
    audit = World(path=":memory:", seed=3, tasks=60, meter=CheckingMeter).run()
    assert audit.seen["violation: billed"] > 0


MONEY_LIMITS = (Limit.TASK_COST, Limit.TASK_TOTAL, Limit.DAILY_COST, Limit.SERVICE_DAILY_COST)

LAX = {
    "attempt": {"max_cost_per_task_usd": Money("0.70")},
    "task": {"max_attempts": 9},
    "repository and day": {"max_daily_cost_usd": Money(100)},
    "service and day": {"max_daily_cost_total_usd": Money(100)},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", LAX)
def test_a_meter_that_forgets_one_of_the_caps_is_caught(kind: str) -> None:
    class Forgetful(AttemptMeter):
        def __init__(self, ledger: Ledger, task: Task, attempt: Attempt, **rest: Any) -> None:
            rest["caps"] = replace(rest["caps"], **LAX[kind])
            super().__init__(ledger, task, attempt, **rest)

    audit = World(path=":memory:", seed=3, tasks=400, meter=Forgetful).run()
    assert any(said.startswith("billed") and f"one {kind}" in said for said in audit.violations)


def a_call(worst: str) -> Call:
    return Call(attempt=an_attempt(), task=a_task(), day="2026-03-01", worst=Money(worst), price=PRICE)


def test_the_audit_objects_to_a_billionth() -> None:
    audit = Audit(replace(CAPS, max_cost_per_task_usd=Money(1)))
    audit.granted(a_call("1"))
    audit.billed(a_call("1"), Money(1))
    assert audit.violations == []
    audit.granted(a_call("0.000000001"))
    assert audit.violations == ["granted: 1.000000001 of 1 for one attempt, task 1"]


def test_what_is_billed_beyond_the_worst_case_counts_apart_and_stops_what_follows() -> None:
    audit = Audit(replace(CAPS, max_cost_per_task_usd=Money(1)))
    dear = a_call("0.9")
    audit.granted(dear)
    audit.billed(dear, Money("1.3"))
    audit.answered(dear)
    assert (audit.violations, audit.overshoot) == ([], Money("0.3"))
    audit.granted(a_call("0.1"))
    assert len(audit.violations) == 1


def test_the_audit_objects_to_a_ledger_below_the_bill() -> None:
    audit = Audit(CAPS)
    audit.granted(a_call("0.1"))
    audit.billed(a_call("0.1"), Money("0.1"))
    audit.compare(lambda scope: Money("0.099999999"))
    assert audit.seen["violation: booked"] == 4
    assert audit.bill["task", 1] > ZERO


@pytest.mark.long
def test_the_whole_proof_ends_with_one_line_of_figures(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        assert main(["--tasks", "300", "--seed", "5"]) == 0
    finally:
        structlog.configure(**before)
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (figures["violations"], figures["ok"]) == (0, True)
    assert figures["bills_beyond_a_cap_without_reservations"] > 0
