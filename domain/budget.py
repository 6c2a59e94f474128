"""The caps as arithmetic: what a call may cost at most, and whether that fits. No I/O, no floats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

from domain.errors import CapReached
from domain.model import Limit, Money, Price, Usage

ZERO = Money(0)
QUANTUM = Decimal("0.000000001")
"""Money is kept in whole billionths of a dollar, and a cost is always rounded up to one."""

LARGEST = Money(1_000_000)
"""Dollars. No call costs more: a figure beyond is a fault of the provider's, and is booked as this."""

MOST_TOKENS = 10**12
"""Likewise for a count of tokens."""

_EXACT = Context(prec=80, rounding=ROUND_CEILING)
"""Digits enough that a product of tokens and a price is never rounded before it is rounded up."""

SMALLEST_USEFUL_ANSWER = 512
"""Tokens. A call that could not answer with at least this much is not worth making."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The budgets in force for one task. A cap of 0 means that nothing may be spent.

    `max_cost_per_task_usd` bounds one attempt, and a maintainer may raise it for one task, once, up to
    `max_raised_cost_per_task_usd`. `max_daily_cost_usd` bounds one repository's UTC day, and
    `max_daily_cost_total_usd` that of all repositories together.
    """

    max_iterations: int
    max_cost_per_task_usd: Money
    max_raised_cost_per_task_usd: Money
    max_daily_cost_usd: Money
    max_daily_cost_total_usd: Money
    max_minutes: int
    max_attempts: int

    @property
    def max_task_total_usd(self) -> Money:
        """What all attempts at one issue may cost together, whatever happens.

        A crash, a resume, a label put on anew and a maintainer's retry bring attempts, never money.
        """
        with localcontext(_EXACT):
            return self.max_attempts * max(ZERO, self.max_cost_per_task_usd)

    def tightened(
        self,
        *,
        max_iterations: int | None,
        max_cost_per_task_usd: Money | None,
        max_daily_cost_usd: Money | None = None,
    ) -> Caps:
        """Return these caps with a repository's own wishes where they are lower; None wishes nothing."""
        day = self.max_daily_cost_usd if max_daily_cost_usd is None else max_daily_cost_usd
        steps = self.max_iterations if max_iterations is None else max_iterations
        cost = self.max_cost_per_task_usd if max_cost_per_task_usd is None else max_cost_per_task_usd
        return replace(
            self,
            max_iterations=min(steps, self.max_iterations),
            max_cost_per_task_usd=min(cost, self.max_cost_per_task_usd),
            max_daily_cost_usd=min(day, self.max_daily_cost_usd),
        )

    def raised(self, by: CapRaise | None) -> Caps:
        """Return these caps with what a maintainer raised, which goes before the repository's own wishes."""
        if by is None:
            return self
        raised = min(by.amount, self.max_raised_cost_per_task_usd)
        return replace(self, max_cost_per_task_usd=max(self.max_cost_per_task_usd, raised))


@dataclass(frozen=True, slots=True, kw_only=True)
class CapRaise:
    """A maintainer's word that each attempt at one task may cost up to `amount`. There is one per task."""

    amount: Money
    by: str
    at: datetime
    comment_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the ledger holds against each cap at this moment; open reservations count as spent.

    `attempt` is what this attempt has cost and `task` what all attempts at its issue have; `day` is what the
    repository has cost on this UTC day (`on`, as YYYY-MM-DD) and `service_day` what all repositories have.
    `estimated` says that part of the task's cost rests on a stated upper price. `raised` is the task's own.
    """

    attempt: Money
    task: Money
    day: Money
    service_day: Money
    on: str = ""
    estimated: bool = False
    raised: CapRaise | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a task stands with the money: what is spent, and the caps that it is held against."""

    caps: Caps
    spent: Spent

    @property
    def total(self) -> Money:
        """What all attempts at the issue may cost, with what was raised."""
        return self.caps.raised(self.spent.raised).max_task_total_usd

    def left(self, limit: Limit) -> Money:
        """Return what a cap on money leaves, never below 0."""
        return max(ZERO, rooms(self.caps, self.spent)[limit])


def cost_of(usage: Usage, price: Price) -> Money:
    """Return the dollars for `usage` at `price`, rounded up to a billionth.

    `input_tokens` are the fresh ones; cached ones are counted apart. A cache price that is not known is
    taken to be the full input price. A count below 0, which only a faulty provider reports, counts as 0: no
    call ever gives money back. One beyond `MOST_TOKENS` counts as that.
    """
    cache_read = price.input if price.cache_read is None else price.cache_read
    cache_write = price.input if price.cache_write is None else price.cache_write
    with localcontext(_EXACT):
        total = (
            _tokens(usage.input_tokens) * price.input
            + _tokens(usage.output_tokens) * price.output
            + _tokens(usage.cache_read_tokens) * cache_read
            + _tokens(usage.cache_write_tokens) * cache_write
        )
        return total.quantize(QUANTUM)


def _tokens(count: int) -> int:
    return min(max(0, count), MOST_TOKENS)


def worst_case(input_tokens: int, max_output_tokens: int, price: Price) -> Money:
    """Return the most that a call can cost: every input token at its dearest, every output token used."""
    dearest = max(price.input, price.cache_write or ZERO, price.cache_read or ZERO)
    with localcontext(_EXACT):
        total = max(0, input_tokens) * dearest + max(0, max_output_tokens) * price.output
        return total.quantize(QUANTUM)


def grant_output(
    *, input_tokens: int, wanted_output: int, price: Price, caps: Caps, spent: Spent
) -> tuple[int, Money]:
    """Return the output tokens that a call may use and the dollars to reserve for it.

    The wanted length is lowered to fit the tightest cap as long as an answer stays useful. A model that the
    operator declared free needs no money and therefore no room; steps and minutes still bound it.

    Raises:
        CapReached: not even the smallest useful answer fits.
        ValueError: less than one token is wanted, or the input is negative.
    """
    if wanted_output < 1 or input_tokens < 0:
        raise ValueError(f"a call of {input_tokens} tokens in and {wanted_output} out cannot be made")
    if price.free:
        return wanted_output, ZERO
    room, limit = _tightest(caps, spent)
    smallest = min(SMALLEST_USEFUL_ANSWER, wanted_output)
    if room > 0:
        granted = _output_within(room, input_tokens, wanted_output, price)
        if granted >= smallest:
            return granted, worst_case(input_tokens, granted, price)
    need, left = worst_case(input_tokens, smallest, price), max(room, ZERO)
    raise CapReached(
        limit,
        f"The next model call needs up to {show_money(need)}, and {limit.words} leaves {show_money(left)}.",
    )


def rooms(caps: Caps, spent: Spent) -> dict[Limit, Money]:
    """Return what each cap on money leaves, exactly or less; below 0 where it was passed."""
    caps = caps.raised(spent.raised)
    with localcontext(_EXACT) as exact:
        exact.rounding = ROUND_FLOOR
        return {
            Limit.TASK_COST: caps.max_cost_per_task_usd - spent.attempt,
            Limit.TASK_TOTAL: caps.max_task_total_usd - spent.task,
            Limit.DAILY_COST: caps.max_daily_cost_usd - spent.day,
            Limit.SERVICE_DAILY_COST: caps.max_daily_cost_total_usd - spent.service_day,
        }


def _tightest(caps: Caps, spent: Spent) -> tuple[Money, Limit]:
    """Return the smallest room and the cap that makes it so."""
    limit, room = min(rooms(caps, spent).items(), key=lambda item: item[1])
    return room, limit


def _output_within(room: Money, input_tokens: int, wanted_output: int, price: Price) -> int:
    """Return how many output tokens fit beside the input; 0 or less where not one does."""
    if worst_case(input_tokens, wanted_output, price) <= room:
        return wanted_output
    if not price.output:
        return 0
    with localcontext(_EXACT) as exact:
        exact.rounding = ROUND_FLOOR
        left = room.quantize(QUANTUM) - worst_case(input_tokens, 0, price)
        return int(left // price.output)


def utc_day(moment: datetime) -> str:
    """Return the UTC day that a moment is booked on, as YYYY-MM-DD. The only day boundary there is.

    Raises:
        ValueError: the moment has no time zone, so that its day would depend on the machine's.
    """
    return _in_utc(moment).date().isoformat()


def next_utc_day(moment: datetime) -> datetime:
    """Return the instant at which the next UTC day, and with it the daily budget, begins.

    Raises:
        ValueError: the moment has no time zone.
    """
    midnight = _in_utc(moment).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=1)


def _in_utc(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return moment.astimezone(UTC)


def show_money(amount: Money) -> str:
    """Write an amount for people: cents where that says enough, more digits where it would say $0.00.

    Less than a dollar has four decimals, less than a hundredth of a cent as many as it takes; less than a
    billionth of a dollar is shown as one.
    """
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size == 0:
        return "$0.00"
    if size >= Decimal("0.99995"):
        return f"{sign}${size:.2f}"
    if size >= Decimal("0.0001"):
        return f"{sign}${size:.4f}"
    return f"{sign}${size.quantize(QUANTUM, rounding=ROUND_CEILING):f}".rstrip("0")
