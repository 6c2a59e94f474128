"""The ledger: what is reserved counts as spent, a settlement replaces it, nothing is ever rewritten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from domain.budget import CapRaise, Spent
from domain.errors import CapReached, StaleWrite
from domain.model import Attempt, Limit, Money, Outcome, Price, Task, Usage
from domain.ports import Reservation
from domain.states import Trigger
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import DaySpend, SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import (
    LEASE,
    MAINTAINER,
    NOON,
    WORKER,
    SetClock,
    delivery,
    issue,
    labelled,
    policy,
    running_task,
)

USAGE = Usage(input_tokens=10, output_tokens=20, cache_read_tokens=30, cache_write_tokens=40)


@pytest.fixture
def task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> Task:
    return running_task(inbox, queue)


@pytest.fixture
def attempt(queue: SqliteTaskQueue, task: Task) -> Attempt:
    return queue.begin_attempt(task)


def test_open_reservation_counts_as_spent(ledger: SqliteLedger, task: Task, attempt: Attempt) -> None:
    reservation = _reserve(ledger, task, attempt, "0.25")

    assert (reservation.amount, reservation.attempt_id) == (Money("0.25"), attempt.id)
    assert reservation.max_output_tokens == 1000
    assert _spent(ledger, task, attempt) == (Money("0.25"),) * 3
    assert ledger.calls_on_attempt(attempt.id) == 1


@pytest.mark.parametrize(
    ("cost", "billed", "charged"),
    [
        ("0.10", None, "0.10"),
        ("0.10", "0.07", "0.10"),
        ("0.10", "0.12", "0.12"),
        ("0", None, "0"),
        ("0.0000000001", None, "0.000000001"),
        ("0.40", None, "0.40"),
    ],
)
def test_settlement_replaces_the_reservation_by_the_larger_figure(
    ledger: SqliteLedger, task: Task, attempt: Attempt, cost: str, billed: str | None, charged: str
) -> None:
    reservation = _reserve(ledger, task, attempt, "0.25")

    ledger.settle(reservation, usage=USAGE, cost=Money(cost), billed=Money(billed) if billed else None)

    assert _spent(ledger, task, attempt) == (Money(charged),) * 3
    assert ledger.calls_on_attempt(attempt.id) == 1


def test_second_settlement_is_a_no_op(ledger: SqliteLedger, task: Task, attempt: Attempt) -> None:
    reservation = _reserve(ledger, task, attempt, "0.25")
    ledger.settle(reservation, usage=USAGE, cost=Money("0.10"), billed=None)

    ledger.settle(reservation, usage=USAGE, cost=Money("0.20"), billed=None)

    assert ledger.spent_on_attempt(attempt.id) == Money("0.10")


def test_both_figures_and_the_tokens_are_kept(
    ledger: SqliteLedger, task: Task, attempt: Attempt, database: Database
) -> None:
    reservation = _reserve(ledger, task, attempt, "0.25")
    ledger.settle(reservation, usage=USAGE, cost=Money("0.1"), billed=Money("0.2"))

    with database.read() as connection:
        row = connection.execute("SELECT * FROM ledger WHERE reservation IS NOT NULL").fetchone()
    assert (row["cost"], row["billed"], row["amount"]) == (100_000_000, 200_000_000, -50_000_000)
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    assert [row[column] for column in tokens] == [10, 20, 30, 40]
    assert row["model"] == "house/small"


def test_where_the_price_came_from_is_kept(
    ledger: SqliteLedger, task: Task, attempt: Attempt, database: Database
) -> None:
    price = Price(input=Money(1), output=Money(1), estimated=True, source="a stated price")
    reservation = ledger.reserve(
        task, attempt, model="m", price=price, decide=lambda spent: (1, Money("0.1"))
    )
    ledger.settle(reservation, usage=USAGE, cost=Money("0.1"), billed=None)

    with database.read() as connection:
        rows = connection.execute("SELECT price_source, estimated FROM ledger").fetchall()
    assert [tuple(row) for row in rows] == [("a stated price", 1)] * 2


def test_decide_sees_what_is_spent_and_its_refusal_writes_nothing(
    ledger: SqliteLedger, task: Task, attempt: Attempt
) -> None:
    _reserve(ledger, task, attempt, "0.25")
    seen: list[Spent] = []

    def refuse(spent: Spent) -> tuple[int, Money]:
        seen.append(spent)
        raise CapReached(Limit.TASK_COST, "no room")

    with pytest.raises(CapReached):
        ledger.reserve(task, attempt, model="house/small", decide=refuse)

    quarter = Money("0.25")
    assert seen == [Spent(attempt=quarter, task=quarter, day=quarter, service_day=quarter, on="2026-03-01")]
    assert ledger.calls_on_attempt(attempt.id) == 1


def test_how_a_task_stands(ledger: SqliteLedger, task: Task, attempt: Attempt) -> None:
    sure = Price(input=Money(1), output=Money(1))
    for price in (sure, replace(sure, estimated=True)):
        assert not ledger.standing(task).estimated
        ledger.reserve(task, attempt, model="m", price=price, decide=lambda spent: (1, Money("0.1")))
    assert ledger.raise_cap(task, Money(2), by=MAINTAINER, comment_id="c1")
    assert not ledger.raise_cap(task, Money(3), by=MAINTAINER, comment_id="c2")

    now = ledger.standing(task, attempt)

    fifth = Money("0.2")
    assert (now.attempt, now.task, now.day, now.service_day) == (fifth,) * 4
    assert (now.on, now.estimated, ledger.standing(task).attempt) == ("2026-03-01", True, 0)
    assert now.raised == CapRaise(amount=Money(2), by="ada", at=NOON, comment_id="c1")


def test_decide_sees_the_task_s_earlier_attempts_and_other_repositories_day(
    ledger: SqliteLedger, inbox: SqliteInbox, queue: SqliteTaskQueue, task: Task, attempt: Attempt
) -> None:
    _reserve(ledger, task, attempt, "0.25")
    queue.end_attempt(attempt, Outcome.UNVERIFIED)
    elsewhere = replace(labelled(1), issue=issue(1, "777"))
    inbox.accept([delivery(elsewhere, "elsewhere")], policy)
    other = queue.claim(WORKER, LEASE)
    assert other is not None
    _reserve(ledger, other, queue.begin_attempt(other), "1")
    seen: list[Spent] = []

    def look(spent: Spent) -> tuple[int, Money]:
        seen.append(spent)
        return 1, Money(0)

    ledger.reserve(task, queue.begin_attempt(task), model="house/small", decide=look)

    assert seen == [
        Spent(
            attempt=Money(0),
            task=Money("0.25"),
            day=Money("0.25"),
            service_day=Money("1.25"),
            on="2026-03-01",
        )
    ]


def test_sums_are_kept_apart(
    ledger: SqliteLedger, inbox: SqliteInbox, queue: SqliteTaskQueue, task: Task, attempt: Attempt
) -> None:
    _reserve(ledger, task, attempt, "0.25")
    queue.end_attempt(attempt, Outcome.UNVERIFIED)
    second = queue.begin_attempt(task)
    _reserve(ledger, task, second, "0.5")
    other = running_task(inbox, queue, 13)
    _reserve(ledger, other, queue.begin_attempt(other), "1")

    assert ledger.spent_on_attempt(attempt.id) == Money("0.25")
    assert ledger.spent_on_attempt(second.id) == Money("0.5")
    assert ledger.spent_on_task(task.id) == Money("0.75")
    assert ledger.spent_on_day("local", "501", "2026-03-01") == Money("1.75")
    assert ledger.spent_on_day("local", "777", "2026-03-01") == 0


def test_call_over_midnight_is_booked_on_the_day_of_its_reservation(
    ledger: SqliteLedger, task: Task, attempt: Attempt, clock: SetClock
) -> None:
    clock.forward(hours=11, minutes=59)
    before = _reserve(ledger, task, attempt, "0.25")
    clock.forward(minutes=2)
    _reserve(ledger, task, attempt, "0.5")
    ledger.settle(before, usage=USAGE, cost=Money("0.1"), billed=None)

    assert ledger.spent_on_day("local", "501", "2026-03-01") == Money("0.1")
    assert ledger.spent_on_day("local", "501", "2026-03-02") == Money("0.5")
    assert ledger.spend_by_day() == [
        DaySpend(forge="local", repository_id="501", day="2026-03-02", spent=Money("0.5"), calls=1),
        DaySpend(forge="local", repository_id="501", day="2026-03-01", spent=Money("0.1"), calls=1),
    ]
    assert len(ledger.spend_by_day(1)) == 1


def test_day_is_utc_whatever_zone_the_clock_speaks(
    ledger: SqliteLedger, task: Task, attempt: Attempt, clock: SetClock
) -> None:
    clock.moment = clock.moment.astimezone(timezone(timedelta(hours=14)))

    _reserve(ledger, task, attempt, "0.25")

    assert ledger.spent_on_day("local", "501", "2026-03-01") == Money("0.25")


Loss = Callable[[SqliteTaskQueue, Task, Attempt], object]


@pytest.mark.parametrize(
    "lose",
    [
        lambda queue, task, attempt: queue.move(task, Trigger.CANCELLED),
        lambda queue, task, attempt: queue.end_attempt(attempt, Outcome.TASK_LIMIT),
        lambda queue, task, attempt: (
            queue.move(task, Trigger.RELEASED),
            queue.begin_attempt(queue.claim(WORKER, LEASE)),
        ),
    ],
    ids=["cancelled", "attempt closed", "taken up by another"],
)
def test_no_reservation_for_a_task_that_is_no_longer_ours(
    ledger: SqliteLedger, queue: SqliteTaskQueue, task: Task, attempt: Attempt, lose: Loss
) -> None:
    earlier = _reserve(ledger, task, attempt, "0.25")
    lose(queue, task, attempt)

    with pytest.raises(StaleWrite):
        _reserve(ledger, task, attempt, "0.5")
    ledger.settle(earlier, usage=USAGE, cost=Money("0.2"), billed=None)

    assert ledger.spent_on_task(task.id) == Money("0.2")


def test_no_reservation_on_an_attempt_that_was_not_taken_up_again(
    ledger: SqliteLedger, queue: SqliteTaskQueue, task: Task, attempt: Attempt
) -> None:
    queue.move(task, Trigger.RELEASED)
    again = queue.claim(WORKER, LEASE)
    assert again is not None

    with pytest.raises(StaleWrite):
        _reserve(ledger, again, attempt, "0.5")
    _reserve(ledger, again, queue.begin_attempt(again), "0.5")


@pytest.mark.parametrize("amount", ["-0.01", "NaN", "Infinity"])
def test_what_is_not_money_is_refused(
    ledger: SqliteLedger, task: Task, attempt: Attempt, amount: str
) -> None:
    with pytest.raises(ValueError, match="money"):
        _reserve(ledger, task, attempt, amount)
    reservation = _reserve(ledger, task, attempt, "0.25")
    with pytest.raises(ValueError, match="money"):
        ledger.settle(reservation, usage=USAGE, cost=Money(amount), billed=None)
    with pytest.raises(ValueError, match="money"):
        ledger.settle(reservation, usage=USAGE, cost=Money(1), billed=Money(amount))

    assert ledger.spent_on_attempt(attempt.id) == Money("0.25")


def test_settling_what_was_never_reserved(ledger: SqliteLedger, task: Task, attempt: Attempt) -> None:
    ghost = Reservation(id=99, attempt_id=attempt.id, amount=Money(1), max_output_tokens=1)

    with pytest.raises(KeyError):
        ledger.settle(ghost, usage=USAGE, cost=Money(1), billed=None)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET amount = 0",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT * FROM ledger",
        "INSERT INTO ledger SELECT 9, reservation, task_id, attempt_id, forge, repository_id, day, at, model,"
        " amount, max_output_tokens, cost, billed, 0, 0, 0, 0, '', 0 FROM ledger"
        " WHERE reservation IS NOT NULL",
        "DELETE FROM tasks",
    ],
)
def test_account_cannot_be_rewritten(
    ledger: SqliteLedger, task: Task, attempt: Attempt, database: Database, statement: str
) -> None:
    ledger.settle(_reserve(ledger, task, attempt, "0.25"), usage=USAGE, cost=Money("0.1"), billed=None)

    with pytest.raises(sqlite3.IntegrityError), database.write() as connection:
        connection.execute(statement)

    assert ledger.spent_on_task(task.id) == Money("0.1")


def test_sums_come_from_indexes_alone(ledger: SqliteLedger, database: Database) -> None:
    for where in (
        "attempt_id = 1",
        "task_id = 1",
        "forge = 'a' AND repository_id = 'b' AND day = 'c'",
        "day = 'c'",
    ):
        with database.read() as connection:
            (row,) = connection.execute(
                f"EXPLAIN QUERY PLAN SELECT sum(amount) FROM ledger WHERE {where}"
            ).fetchall()
        assert "USING COVERING INDEX" in row["detail"]


def _reserve(ledger: SqliteLedger, task: Task, attempt: Attempt, amount: str) -> Reservation:
    return ledger.reserve(task, attempt, model="house/small", decide=lambda spent: (1000, Money(amount)))


def _spent(ledger: SqliteLedger, task: Task, attempt: Attempt) -> tuple[Money, Money, Money]:
    return (
        ledger.spent_on_attempt(attempt.id),
        ledger.spent_on_task(task.id),
        ledger.spent_on_day("local", "501", "2026-03-01"),
    )
