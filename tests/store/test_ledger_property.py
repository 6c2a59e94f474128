"""Property: whatever two threads reserve, settle and lose, and whenever midnight comes, no cap is passed."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.budget import Caps, Spent, cost_of, grant_output, utc_day
from domain.errors import CapReached
from domain.model import Attempt, Money, Price, Task, Usage
from domain.ports import Reservation
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, SetClock, running_task

CAPS = Caps(
    max_iterations=50,
    max_cost_per_task_usd=Money("0.50"),
    max_raised_cost_per_task_usd=Money("0.60"),
    max_daily_cost_usd=Money("0.80"),
    max_daily_cost_total_usd=Money("0.75"),
    max_minutes=60,
    max_attempts=3,
)
PRICE = Price(input=Money("0.000003"), output=Money("0.000015"))

CALLS = st.tuples(
    st.integers(0, 1),
    st.integers(0, 20_000),
    st.integers(1, 16_000),
    st.sampled_from(["settle", "settle", "settle in full", "lose", "midnight"]),
)
LANES = st.lists(CALLS, max_size=12)
Call = tuple[int, int, int, str]


class Account:
    """Two running tasks of one repository, on a store of their own."""

    def __init__(self, path: Path | Literal[":memory:"]) -> None:
        self.database = Database(path)
        self.database.migrate()
        self.clock = SetClock()
        self.ledger = SqliteLedger(self.database, self.clock)
        queue, inbox = SqliteTaskQueue(self.database, self.clock), SqliteInbox(self.database, CATEGORIES)
        tasks = [running_task(inbox, queue, number) for number in (1, 2)]
        self.work: list[tuple[Task, Attempt]] = [(task, queue.begin_attempt(task)) for task in tasks]
        self.days = {utc_day(self.clock.now())}

    def call(self, call: Call) -> None:
        which, input_tokens, wanted, ending = call
        if ending == "midnight":
            self.clock.forward(hours=12)
            self.days.add(utc_day(self.clock.now()))
        task, attempt = self.work[which]

        def decide(spent: Spent) -> tuple[int, Money]:
            return grant_output(
                input_tokens=input_tokens, wanted_output=wanted, price=PRICE, caps=CAPS, spent=spent
            )

        try:
            reservation = self.ledger.reserve(task, attempt, model="m", decide=decide)
        except CapReached:
            return
        self.check()
        if ending.startswith("settle"):
            self.settle(reservation, input_tokens, 1 if ending == "settle in full" else 3)

    def settle(self, reservation: Reservation, input_tokens: int, divisor: int) -> None:
        usage = Usage(input_tokens=input_tokens, output_tokens=reservation.max_output_tokens // divisor)
        for _ in range(2):
            self.ledger.settle(reservation, usage=usage, cost=cost_of(usage, PRICE), billed=None)

    def check(self) -> None:
        for _, attempt in self.work:
            assert 0 <= self.ledger.spent_on_attempt(attempt.id) <= CAPS.max_cost_per_task_usd
        for task, _ in self.work:
            assert self.ledger.spent_on_task(task.id) <= CAPS.max_task_total_usd
        for day in tuple(self.days):
            assert 0 <= self.ledger.spent_on_day("local", "501", day) <= CAPS.max_daily_cost_total_usd

    def totals_agree(self) -> None:
        by_day = sum(each.spent for each in self.ledger.spend_by_day())
        assert by_day == sum(self.ledger.spent_on_task(task.id) for task, _ in self.work)


def _run(path: Path | Literal[":memory:"], lanes: tuple[list[Call], list[Call]]) -> None:
    account = Account(path)
    with account.database:
        with ThreadPoolExecutor(2) as threads:
            for lane in [
                threads.submit(lambda calls: [account.call(c) for c in calls], each) for each in lanes
            ]:
                lane.result()
        account.check()
        account.totals_agree()


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(LANES, LANES)
def test_no_cap_is_ever_passed_in_memory(first: list[Call], second: list[Call]) -> None:
    _run(":memory:", (first, second))


@pytest.mark.long
@settings(max_examples=8, deadline=None)
@given(LANES, LANES)
def test_no_cap_is_ever_passed_on_a_file(first: list[Call], second: list[Call]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        _run(Path(directory) / "fixwright.db", (first, second))


def test_caps_do_bite() -> None:
    account = Account(":memory:")
    with account.database:
        for _ in range(40):
            account.call((0, 10_000, 16_000, "lose"))
            account.call((1, 10_000, 16_000, "lose"))
        task, attempt = account.work[0]
        with pytest.raises(CapReached):
            account.ledger.reserve(
                task,
                attempt,
                model="m",
                decide=lambda spent: grant_output(
                    input_tokens=1, wanted_output=16_000, price=PRICE, caps=CAPS, spent=spent
                ),
            )
        assert account.ledger.spent_on_day("local", "501", "2026-03-01") > Money("0.7")
