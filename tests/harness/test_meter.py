"""The meter: no call without headroom, the higher figure is booked, disagreement is said once."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from domain.budget import LARGEST
from domain.errors import CapReached
from domain.model import Limit, Money, Price, Usage
from tests.harness.agent.world import PRICE, MemoryLedger, a_meter

FREE = Price(input=Money(0), output=Money(0), free=True)


def test_a_reservation_is_the_worst_case() -> None:
    reservation = a_meter().reserve(1000, 500)
    assert reservation.amount == 1000 * PRICE.input + 500 * PRICE.output
    assert reservation.max_output_tokens == 500


def test_the_answer_is_shortened_to_what_the_tightest_cap_leaves() -> None:
    ledger = MemoryLedger(day_before=Money("9.995"))
    reservation = a_meter(ledger).reserve(1000, 8000)
    assert reservation.max_output_tokens == 1000
    with pytest.raises(CapReached) as caught:
        a_meter(ledger).reserve(1000, 8000)
    assert caught.value.limit is Limit.DAILY_COST


@pytest.mark.parametrize("cap", [Money(0), Money("-0.5"), Money("0.0000001")])
def test_nothing_left_means_no_call(cap: Money) -> None:
    ledger = MemoryLedger()
    with pytest.raises(CapReached) as caught:
        a_meter(ledger, max_cost_per_task_usd=cap).reserve(10, 1000)
    assert caught.value.limit is Limit.TASK_COST
    assert ledger.calls == 0


@pytest.mark.parametrize("price", [PRICE, FREE])
def test_every_reservation_is_a_step_settled_or_not(price: Price) -> None:
    meter = a_meter(MemoryLedger(), price, max_iterations=2)
    meter.settle(meter.reserve(10, 10), Usage(), None)
    meter.reserve(10, 10)
    with pytest.raises(CapReached, match="2 of 2 model calls") as caught:
        meter.reserve(10, 10)
    assert caught.value.limit is Limit.ITERATIONS


def test_a_step_cap_of_zero_allows_none() -> None:
    with pytest.raises(CapReached):
        a_meter(price=FREE, max_iterations=0).reserve(10, 10)


@pytest.mark.parametrize(("tokens", "wanted"), [(-1, 10), (10, 0)])
def test_nonsense_is_not_reserved(tokens: int, wanted: int) -> None:
    with pytest.raises(ValueError, match="not a call"):
        a_meter().reserve(tokens, wanted)


def test_a_spent_step_counts_after_a_restart() -> None:
    ledger = MemoryLedger()
    a_meter(ledger, max_iterations=1).reserve(10, 10)
    with pytest.raises(CapReached):
        a_meter(ledger, max_iterations=1).reserve(10, 10)


@pytest.mark.parametrize(
    ("billed", "booked"),
    [(None, "0.0014"), (Money("0.01"), "0.01"), (Money("0.0001"), "0.0014"), (Money(0), "0.0014")],
)
def test_the_higher_figure_is_booked_and_both_are_kept(billed: Money | None, booked: str) -> None:
    ledger = MemoryLedger()
    meter = a_meter(ledger)
    reservation = meter.reserve(1000, 100)
    assert meter.settle(reservation, Usage(input_tokens=1000, output_tokens=100), billed) == Money(booked)
    assert ledger.booked[0][2:] == (Money(booked), billed)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=-1000, output_tokens=100),
        Usage(input_tokens=1000, output_tokens=-1),
        Usage(input_tokens=10, cache_read_tokens=-10),
        Usage(output_tokens=100),
    ],
)
def test_counts_that_cannot_be_true_are_booked_at_the_reservation(usage: Usage) -> None:
    meter = a_meter()
    reservation = meter.reserve(1000, 500)
    assert meter.settle(reservation, usage, Money("0.0001")) == reservation.amount


def test_a_call_of_which_nothing_is_known_is_booked_at_its_reservation_cache_prices_and_all() -> None:
    meter = a_meter(price=Price(input=PRICE.input, output=PRICE.output, cache_write=2 * PRICE.input))
    reservation = meter.reserve(1000, 500)
    assert reservation.amount == Money("0.004")
    assert meter.settle(reservation, None, None) == reservation.amount


def test_a_call_that_the_provider_refused_costs_nothing() -> None:
    meter = a_meter()
    assert meter.settle(meter.reserve(1000, 500), Usage(), None) == 0


@pytest.mark.parametrize("billed", ["NaN", "-3", "Infinity", "1e400"])
@pytest.mark.parametrize("tokens", [1000, 10**400])
def test_figures_beyond_reason_stop_everything_and_break_nothing(billed: str, tokens: int) -> None:
    ledger = MemoryLedger()
    meter = a_meter(ledger)
    cost = meter.settle(
        meter.reserve(1000, 100), Usage(input_tokens=tokens, output_tokens=100), Money(billed)
    )
    assert Money("0.0014") <= cost <= LARGEST
    assert (cost == LARGEST) is (tokens > 1000 or billed == "1e400")
    if cost > 5:
        with pytest.raises(CapReached):
            meter.reserve(1, 1)


def test_a_large_disagreement_is_logged_once_per_attempt() -> None:
    meter, usage = a_meter(), Usage(input_tokens=1000, output_tokens=100)
    with capture_logs() as logs:
        for billed in ("0.0015", "0.0042", "0.0004"):
            meter.settle(meter.reserve(1000, 100), usage, Money(billed))
    assert [(entry["computed"], entry["billed"]) for entry in logs] == [("0.001400000", "0.0042")]


def test_a_free_model_that_bills_after_all_is_booked() -> None:
    ledger = MemoryLedger()
    meter = a_meter(ledger, FREE)
    assert meter.settle(meter.reserve(10, 10), Usage(output_tokens=5), Money("0.3")) == Money("0.3")
    with pytest.raises(CapReached):
        a_meter(ledger, PRICE, max_cost_per_task_usd=Money("0.3")).reserve(10, 10)


def test_a_repository_lowers_a_cap_and_never_raises_one() -> None:
    meter = a_meter(max_iterations=5, max_cost_per_task_usd=Money(1))
    meter.tighten(max_iterations=1, max_cost_per_task_usd=Money("0.5"))
    meter.tighten(max_iterations=9, max_cost_per_task_usd=Money(2))
    meter.tighten(max_iterations=None, max_cost_per_task_usd=None)
    meter.reserve(10, 10)
    with pytest.raises(CapReached, match="1 of 1 model calls"):
        meter.reserve(10, 10)


def test_looking_books_nothing() -> None:
    ledger = MemoryLedger()
    a_meter(ledger).check()
    assert (ledger.calls, ledger.open, ledger.booked) == (0, {}, [])


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"max_iterations": 0}, Limit.ITERATIONS),
        ({"max_cost_per_task_usd": Money("0.000003")}, Limit.TASK_COST),
        ({"max_daily_cost_usd": Money(0)}, Limit.DAILY_COST),
        ({"max_daily_cost_usd": Money("0.005")}, Limit.DAILY_COST),
        ({"max_daily_cost_total_usd": Money("0.005")}, Limit.SERVICE_DAILY_COST),
    ],
)
def test_looking_tells_what_no_call_can_pass(changes: dict[str, object], limit: Limit) -> None:
    with pytest.raises(CapReached) as caught:
        a_meter(**changes).check()
    assert caught.value.limit is limit
