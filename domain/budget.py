"""The caps as arithmetic: what a call may cost at most, and whether that fits. No I/O, no floats."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from domain.errors import CapReached
from domain.model import Limit, Money, Price, Usage

ZERO = Money(0)
QUANTUM = Decimal("0.000000001")
"""Money is kept in whole billionths of a dollar, and a cost is always rounded up to one."""

SMALLEST_USEFUL_ANSWER = 512
"""Tokens. A call that could not answer with at least this much is not worth making."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The budgets in force for one task. A cap of 0 means that nothing may be spent."""

    max_iterations: int
    max_cost_per_task_usd: Money
    max_daily_cost_usd: Money
    max_minutes: int
    max_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the ledger holds against each cap at this moment; open reservations count as spent.

    `attempt` is what this attempt has cost, `day` what the repository has cost on this UTC day.
    """

    attempt: Money
    day: Money


def cost_of(usage: Usage, price: Price) -> Money:
    """Return the dollars for `usage` at `price`, rounded up to a billionth.

    `input_tokens` are the fresh ones; cached ones are counted apart. A cache price that is not known is
    taken to be the full input price.
    """
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    total = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * cache_read
        + usage.cache_write_tokens * cache_write
    )
    return total.quantize(QUANTUM, rounding=ROUND_CEILING)


def worst_case(input_tokens: int, max_output_tokens: int, price: Price) -> Money:
    """Return the most that a call can cost: every input token at its dearest, every output token used."""
    dearest = max(price.input, price.cache_write or ZERO)
    total = input_tokens * dearest + max_output_tokens * price.output
    return total.quantize(QUANTUM, rounding=ROUND_CEILING)


def grant_output(
    *, input_tokens: int, wanted_output: int, price: Price, caps: Caps, spent: Spent
) -> tuple[int, Money]:
    """Return the output tokens that a call may use and the dollars to reserve for it.

    The wanted length is lowered to fit the tightest cap as long as an answer stays useful.

    Raises:
        CapReached: not even the smallest useful answer fits.
    """
    room, limit = min(
        (caps.max_cost_per_task_usd - spent.attempt, Limit.TASK_COST),
        (caps.max_daily_cost_usd - spent.day, Limit.DAILY_COST),
        key=lambda pair: pair[0],
    )
    if price.free:
        return wanted_output, ZERO
    granted = wanted_output
    if worst_case(input_tokens, granted, price) > room:
        left_for_output = room - worst_case(input_tokens, 0, price)
        granted = int(left_for_output / price.output) if price.output else 0
        granted = min(granted, wanted_output)
    if room <= 0 or granted < min(SMALLEST_USEFUL_ANSWER, wanted_output):
        need = worst_case(input_tokens, min(SMALLEST_USEFUL_ANSWER, wanted_output), price)
        raise CapReached(
            limit, f"the next model call needs up to ${need:.4f}, and {limit} leaves ${max(room, ZERO):.4f}"
        )
    return granted, worst_case(input_tokens, granted, price)


def utc_day(moment: datetime) -> str:
    """Return the UTC day that a moment is booked on, as YYYY-MM-DD. The only day boundary there is."""
    return moment.astimezone(UTC).date().isoformat()


def next_utc_day(moment: datetime) -> datetime:
    """Return the instant at which the next UTC day, and with it the daily budget, begins."""
    midnight = moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=1)


def show_money(amount: Money) -> str:
    """Write an amount for people: cents where that says enough, more digits where it would say $0.00."""
    if amount == 0:
        return "$0.00"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"
