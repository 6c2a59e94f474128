"""The caps as arithmetic: never a reservation beyond the room, exact figures, one day boundary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from domain.budget import (
    QUANTUM,
    SMALLEST_USEFUL_ANSWER,
    ZERO,
    Caps,
    Spent,
    cost_of,
    grant_output,
    next_utc_day,
    rooms,
    show_money,
    utc_day,
    worst_case,
)
from domain.errors import CapReached
from domain.model import Limit, Money, Price, Usage

PRICE = Price(input=Decimal("0.000003"), output=Decimal("0.000015"))
FREE = Price(input=ZERO, output=ZERO, free=True)

dollars = st.decimals(min_value=0, max_value=1000, places=12)
per_token = st.decimals(min_value=0, max_value=Decimal("0.001"), places=15)
prices = st.builds(
    Price,
    input=per_token,
    output=per_token,
    cache_read=st.none() | per_token,
    cache_write=st.none() | per_token,
)
tokens = st.integers(min_value=0, max_value=2_000_000)


def caps(task: Money | str | int, day: Money | str | int, service_day: Money | str | int) -> Caps:
    return Caps(
        max_iterations=50,
        max_cost_per_task_usd=Money(task),
        max_raised_cost_per_task_usd=2 * Money(task),
        max_daily_cost_usd=Money(day),
        max_daily_cost_total_usd=Money(service_day),
        max_minutes=30,
        max_attempts=3,
    )


def grant(
    *,
    task: Money | str | int = 100,
    day: Money | str | int = 100,
    service_day: Money | str | int = 10_000,
    attempt_spent: Money | str | int = 0,
    task_spent: Money | str | int = 0,
    day_spent: Money | str | int = 0,
    service_day_spent: Money | str | int = 0,
    input_tokens: int = 1000,
    wanted: int = 4096,
    price: Price = PRICE,
) -> tuple[int, Money]:
    return grant_output(
        input_tokens=input_tokens,
        wanted_output=wanted,
        price=price,
        caps=caps(task, day, service_day),
        spent=Spent(
            attempt=Money(attempt_spent),
            task=Money(task_spent),
            day=Money(day_spent),
            service_day=Money(service_day_spent),
        ),
    )


# -- what a call costs ------------------------------------------------------------------------------


def test_a_cost_is_tokens_times_prices() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200)
    assert cost_of(usage, PRICE) == Decimal("0.006")


def test_cached_tokens_have_their_own_prices() -> None:
    price = Price(
        input=Decimal("0.000003"),
        output=Decimal("0.000015"),
        cache_read=Decimal("0.0000003"),
        cache_write=Decimal("0.00000375"),
    )
    usage = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=1000, cache_write_tokens=1000)
    assert cost_of(usage, price) == Decimal("0.0003") + Decimal("0.00015") + Decimal("0.0003") + Decimal(
        "0.00375"
    )


def test_an_unknown_cache_price_is_the_full_input_price() -> None:
    assert cost_of(Usage(cache_read_tokens=10), PRICE) == cost_of(Usage(input_tokens=10), PRICE)
    assert cost_of(Usage(cache_write_tokens=10), PRICE) == cost_of(Usage(input_tokens=10), PRICE)


def test_a_cost_is_rounded_up_never_down() -> None:
    price = Price(input=Decimal("0.00000000010000000000001"), output=ZERO)
    assert cost_of(Usage(input_tokens=1), price) == QUANTUM
    assert cost_of(Usage(input_tokens=20), price) == 3 * QUANTUM


def test_a_price_with_more_digits_than_a_default_context_is_still_rounded_up() -> None:
    price = Price(input=Decimal("1.000000000000000000000000000000000001"), output=ZERO)
    assert cost_of(Usage(input_tokens=1), price) == Decimal("1.000000001")
    assert worst_case(1, 0, price) == Decimal("1.000000001")


def test_a_provider_that_reports_negative_tokens_gives_nothing_back() -> None:
    usage = Usage(input_tokens=-1_000_000, output_tokens=10, cache_read_tokens=-5, cache_write_tokens=-5)
    assert cost_of(usage, PRICE) == cost_of(Usage(output_tokens=10), PRICE)


@given(
    usage=st.builds(
        Usage, input_tokens=tokens, output_tokens=tokens, cache_read_tokens=tokens, cache_write_tokens=tokens
    ),
    price=prices,
)
def test_costs_are_exact_billionths_and_at_least_the_true_sum(usage: Usage, price: Price) -> None:
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    true = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * read
        + usage.cache_write_tokens * write
    )
    cost = cost_of(usage, price)
    assert isinstance(cost, Decimal)
    assert true <= cost < true + QUANTUM
    assert cost == cost.quantize(QUANTUM)


@given(data=st.data(), price=prices, input_tokens=tokens, max_output=tokens)
def test_a_call_within_its_limits_never_costs_more_than_the_worst_case(
    data: st.DataObject, price: Price, input_tokens: int, max_output: int
) -> None:
    cached = data.draw(st.integers(0, input_tokens))
    written = data.draw(st.integers(0, input_tokens - cached))
    usage = Usage(
        input_tokens=input_tokens - cached - written,
        output_tokens=data.draw(st.integers(0, max_output)),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
    assert cost_of(usage, price) <= worst_case(input_tokens, max_output, price)


def test_a_cache_that_costs_more_than_fresh_input_is_in_the_worst_case() -> None:
    dear_read = Price(input=Decimal("0.1"), output=ZERO, cache_read=Decimal("0.2"))
    dear_write = Price(input=Decimal("0.1"), output=ZERO, cache_write=Decimal("0.3"))
    assert worst_case(10, 0, dear_read) == 2
    assert worst_case(10, 0, dear_write) == 3


# -- what a call may use ----------------------------------------------------------------------------


def test_with_room_the_wanted_length_is_granted_and_reserved() -> None:
    granted, reserved = grant(wanted=4096)
    assert granted == 4096
    assert reserved == worst_case(1000, 4096, PRICE)


def test_near_a_cap_the_answer_is_shortened() -> None:
    granted, reserved = grant(task="0.02", wanted=4096)
    assert granted == int((Decimal("0.02") - Decimal("0.003")) / PRICE.output)
    assert SMALLEST_USEFUL_ANSWER <= granted < 4096
    assert reserved <= Decimal("0.02")


@pytest.mark.long
@given(
    price=prices,
    input_tokens=tokens,
    wanted=st.integers(1, 200_000),
    task=dollars,
    day=dollars,
    attempt_spent=dollars,
    day_spent=dollars,
)
@example(
    price=Price(input=Decimal("0.000000001"), output=Decimal("0.0000000003")),
    input_tokens=1,
    wanted=1000,
    task=Decimal("0.0000002005"),
    day=Decimal(1),
    attempt_spent=ZERO,
    day_spent=ZERO,
)
def test_a_reservation_fits_every_cap_or_there_is_none(
    price: Price,
    input_tokens: int,
    wanted: int,
    task: Money,
    day: Money,
    attempt_spent: Money,
    day_spent: Money,
) -> None:
    left = {
        Limit.TASK_COST: task - attempt_spent,
        Limit.DAILY_COST: day - day_spent,
        Limit.TASK_TOTAL: 3 * task,
        Limit.SERVICE_DAILY_COST: Money(10_000),
    }
    smallest = min(SMALLEST_USEFUL_ANSWER, wanted)
    try:
        granted, reserved = grant(
            task=task,
            day=day,
            attempt_spent=attempt_spent,
            day_spent=day_spent,
            input_tokens=input_tokens,
            wanted=wanted,
            price=price,
        )
    except CapReached as reached:
        room = left[reached.limit]
        assert room == min(left.values())
        assert room <= 0 or worst_case(input_tokens, smallest, price) > room - 2 * QUANTUM
    else:
        assert smallest <= granted <= wanted
        assert reserved == worst_case(input_tokens, granted, price)
        assert all(reserved <= room for room in left.values())
        assert min(left.values()) > 0


@given(price=prices, spent=dollars, wanted=st.integers(1, 10_000))
def test_a_cap_of_zero_lets_no_priced_call_through(price: Price, spent: Money, wanted: int) -> None:
    for limit, zero in ((Limit.TASK_COST, {"task": 0}), (Limit.DAILY_COST, {"day": 0})):
        with pytest.raises(CapReached) as reached:
            grant(**zero, price=price, wanted=wanted)
        assert reached.value.limit is limit
    with pytest.raises(CapReached):
        grant(task=0, day=0, attempt_spent=spent, day_spent=spent, price=price, wanted=wanted)


def test_an_undeclared_price_of_zero_does_not_pass_a_cap_of_zero() -> None:
    unknown = Price(input=ZERO, output=ZERO)
    with pytest.raises(CapReached):
        grant(task=0, price=unknown)
    assert grant(task="0.000000001", price=unknown) == (4096, ZERO)


def test_a_model_that_the_operator_calls_free_runs_even_under_a_cap_of_zero() -> None:
    """ "Spend nothing" is kept by a model that costs nothing; steps and minutes still bound it."""
    assert grant(task=0, day=0, price=FREE) == (4096, ZERO)
    assert grant(task=1, attempt_spent=5, price=FREE) == (4096, ZERO)


@pytest.mark.parametrize("spent", ["1", "1.0000001", "0.9999999", "2"])
def test_at_and_beyond_the_cap_nothing_is_granted(spent: str) -> None:
    with pytest.raises(CapReached) as reached:
        grant(day=1, day_spent=spent)
    assert reached.value.limit is Limit.DAILY_COST


def test_the_call_that_would_cross_the_line_is_not_made() -> None:
    with pytest.raises(CapReached) as reached:
        grant(task="0.50", attempt_spent="0.49", input_tokens=200_000)
    assert reached.value.limit is Limit.TASK_COST
    assert str(reached.value) == (
        "The next model call needs up to $0.6077, and max_cost_per_task_usd (dollars of one attempt) "
        "leaves $0.0100."
    )


def test_the_tighter_cap_is_named() -> None:
    with pytest.raises(CapReached) as reached:
        grant(task="0.001", day="0.0005")
    assert reached.value.limit is Limit.DAILY_COST
    with pytest.raises(CapReached) as reached:
        grant(task="0.0005", day="0.001")
    assert reached.value.limit is Limit.TASK_COST


def test_tiny_amounts_in_the_refusal_are_not_shown_as_nothing() -> None:
    price = Price(input=Decimal("0.000000001"), output=Decimal("0.00000001"))
    with pytest.raises(
        CapReached, match=r"needs up to \$0\.00000512\d*, and max_cost_per_task_usd \(.*\) leaves \$0\.000001"
    ):
        grant(task="0.000001", input_tokens=1, price=price)


def test_a_short_answer_that_was_wanted_short_is_useful() -> None:
    granted, reserved = grant(wanted=16, task=worst_case(1000, 16, PRICE))
    assert (granted, reserved) == (16, worst_case(1000, 16, PRICE))
    with pytest.raises(CapReached):
        grant(wanted=16, task=worst_case(1000, 16, PRICE) - QUANTUM)


def test_the_smallest_useful_answer_is_the_last_one_granted() -> None:
    just_enough = worst_case(1000, SMALLEST_USEFUL_ANSWER, PRICE)
    assert grant(task=just_enough) == (SMALLEST_USEFUL_ANSWER, just_enough)
    with pytest.raises(CapReached):
        grant(task=just_enough - QUANTUM)


def test_free_output_is_not_shortened_when_the_input_fits() -> None:
    price = Price(input=Decimal("0.001"), output=ZERO)
    assert grant(task=1, input_tokens=1000, price=price) == (4096, Decimal(1))
    with pytest.raises(CapReached):
        grant(task=1, input_tokens=1001, price=price)


def test_a_huge_cap_is_only_a_huge_cap() -> None:
    assert grant(task="1e309", day="1e40")[0] == 4096
    with pytest.raises(CapReached):
        grant(task="1e30", attempt_spent="1e30")


def test_room_below_a_billionth_is_not_rounded_up() -> None:
    with pytest.raises(CapReached):
        grant(task="1e30", attempt_spent="999999999999999999999999999999.9999999999")


@pytest.mark.parametrize(("input_tokens", "wanted"), [(0, 0), (10, -1), (-1, 10)])
def test_a_call_that_cannot_be_made_is_refused_not_credited(input_tokens: int, wanted: int) -> None:
    with pytest.raises(ValueError, match="cannot be made"):
        grant(input_tokens=input_tokens, wanted=wanted)


# -- days -------------------------------------------------------------------------------------------


def test_the_day_is_the_utc_day_whatever_the_zone() -> None:
    moment = datetime(2026, 3, 1, 0, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert utc_day(moment) == "2026-02-28"
    assert next_utc_day(moment) == datetime(2026, 3, 1, tzinfo=UTC)
    assert utc_day(datetime(2026, 2, 28, 20, 0, tzinfo=ZoneInfo("America/New_York"))) == "2026-03-01"


def test_a_clock_change_does_not_move_the_boundary() -> None:
    new_york = ZoneInfo("America/New_York")
    start = datetime(2026, 3, 8, 0, 0, tzinfo=new_york)
    moments = [(start.astimezone(UTC) + timedelta(minutes=20 * n)) for n in range(72)]
    days = [utc_day(moment.astimezone(new_york)) for moment in moments]
    assert days == sorted(days)
    assert {next_utc_day(moment.astimezone(new_york)) for moment in moments} == {
        datetime(2026, 3, 9, tzinfo=UTC),
        datetime(2026, 3, 10, tzinfo=UTC),
    }


@pytest.mark.parametrize(
    ("moment", "following"),
    [
        (datetime(2028, 2, 28, 23, 59, 59, tzinfo=UTC), datetime(2028, 2, 29, tzinfo=UTC)),
        (datetime(2028, 2, 29, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
        (datetime(2027, 2, 28, 12, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_leap_days_and_new_years(moment: datetime, following: datetime) -> None:
    assert next_utc_day(moment) == following


zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.long
@given(
    moment=st.datetimes(
        min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1), timezones=zones | st.timezones()
    )
)
def test_a_day_ends_within_24_hours_and_exactly_when_the_next_begins(moment: datetime) -> None:
    assume(moment.utcoffset() is not None)
    following = next_utc_day(moment)
    assert timedelta(0) < following - moment.astimezone(UTC) <= timedelta(days=1)
    assert utc_day(following - timedelta(microseconds=1)) == utc_day(moment)
    assert utc_day(following) > utc_day(moment)
    assert following.utcoffset() == timedelta(0)


def test_a_moment_without_a_zone_belongs_to_no_day() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        utc_day(datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="no time zone"):
        next_utc_day(datetime(2026, 1, 1))


# -- shown ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("-0", "$0.00"),
        ("0E+3", "$0.00"),
        ("1", "$1.00"),
        ("12.345", "$12.34"),
        ("0.5", "$0.5000"),
        ("0.0123", "$0.0123"),
        ("0.0001", "$0.0001"),
        ("0.00001", "$0.00001"),
        ("0.0000999", "$0.0000999"),
        ("1e-9", "$0.000000001"),
        ("1e-12", "$0.000000001"),
        ("0.99999999", "$1.00"),
        ("0.9999", "$0.9999"),
        ("123456789012.5", "$123456789012.50"),
        ("1e20", "$100000000000000000000.00"),
        ("-0.25", "-$0.2500"),
        ("-3", "-$3.00"),
    ],
)
def test_amounts_as_people_read_them(amount: str, shown: str) -> None:
    assert show_money(Decimal(amount)) == shown


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-1e15"), max_value=Decimal("1e15"))
)
@example(Decimal("0.00005"))
@example(Decimal("0.99995"))
def test_something_is_never_shown_as_nothing(amount: Decimal) -> None:
    shown = show_money(amount)
    assert "e" not in shown.lower()
    digits = Decimal(shown.replace("$", ""))
    assert (digits == 0) == (amount == 0)
    assert abs(digits - amount) <= max(Decimal("0.005"), QUANTUM)
    assert "." in shown


@pytest.mark.parametrize(
    ("steps", "dollars", "expected"),
    [
        (None, None, (40, Decimal("1.00"))),
        (5, Decimal("0.20"), (5, Decimal("0.20"))),
        (500, Decimal("9"), (40, Decimal("1.00"))),
        (0, Decimal(0), (0, Decimal(0))),
    ],
)
def test_a_repository_may_lower_its_caps_and_never_raise_them(
    steps: int | None, dollars: Decimal | None, expected: tuple[int, Decimal]
) -> None:
    given_caps = Caps(
        max_iterations=40,
        max_cost_per_task_usd=Decimal("1.00"),
        max_raised_cost_per_task_usd=Decimal(2),
        max_daily_cost_usd=Decimal(5),
        max_daily_cost_total_usd=Decimal(20),
        max_minutes=30,
        max_attempts=2,
    )
    caps = given_caps.tightened(max_iterations=steps, max_cost_per_task_usd=dollars)
    assert (caps.max_iterations, caps.max_cost_per_task_usd) == expected
    assert (caps.max_daily_cost_usd, caps.max_attempts) == (Decimal(5), 2)
    assert caps.max_daily_cost_total_usd == Decimal(20)
    assert caps.max_task_total_usd == 2 * caps.max_cost_per_task_usd


@pytest.mark.parametrize(
    ("spent", "limit"),
    [
        ({"task_spent": "2.999"}, Limit.TASK_TOTAL),
        ({"service_day_spent": "9.999"}, Limit.SERVICE_DAILY_COST),
        ({"day_spent": "4.999", "service_day_spent": "9"}, Limit.DAILY_COST),
    ],
)
def test_the_total_of_a_task_and_the_service_s_day_are_caps_like_the_others(
    spent: dict[str, str], limit: Limit
) -> None:
    with pytest.raises(CapReached) as reached:
        grant(task=1, day=5, service_day=10, **spent)  # type: ignore[arg-type]
    assert reached.value.limit is limit
    assert f"{limit} (" in str(reached.value)
    assert limit.is_daily is (limit is not Limit.TASK_TOTAL)


def test_what_each_cap_leaves() -> None:
    spent = Spent(attempt=Money("0.4"), task=Money("1.4"), day=Money(6), service_day=Money("6.5"))
    assert rooms(caps(1, 5, 10), spent) == {
        Limit.TASK_COST: Money("0.6"),
        Limit.TASK_TOTAL: Money("1.6"),
        Limit.DAILY_COST: Money(-1),
        Limit.SERVICE_DAILY_COST: Money("3.5"),
    }
