"""The priced model's till: refuse or reserve before a call, settle after it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import structlog

from domain.budget import LARGEST, ZERO, Caps, Spent, cost_of, grant_output
from domain.errors import CapReached
from domain.model import Attempt, Limit, Money, Price, Task, Usage
from domain.ports import Ledger, Reservation

DISAGREEMENT = Money("1.5")
"""From this factor between our figure and the provider's own on, the difference is logged."""

SMALLEST_FIRST_CALL = 4_500
"""Tokens. What we ask of a model has at least this bound before a word of the issue is in it."""

SMALLEST_FIRST_ANSWER = 256
"""Tokens. The shortest answer that the settings let an operator want."""

log = structlog.get_logger(__name__)


class _Affordable(Exception):
    """Raised inside the ledger's transaction, so that nothing of it is written."""


def _only_looking(_granted: tuple[int, Money]) -> tuple[int, Money]:
    raise _Affordable


class AttemptMeter:
    """Counts and pays the model calls of one attempt; implements `domain.ports.Meter`."""

    def __init__(
        self, ledger: Ledger, task: Task, attempt: Attempt, *, caps: Caps, price: Price, model: str
    ) -> None:
        self.model = model
        self._ledger = ledger
        self._task = task
        self._attempt = attempt
        self._caps = caps
        self._price = price
        self._disagreed = False

    def tighten(
        self,
        *,
        max_iterations: int | None,
        max_cost_per_task_usd: Money | None,
        max_daily_cost_usd: Money | None = None,
    ) -> None:
        """Lower the caps to what the repository wishes for itself; they are never raised."""
        self._caps = self._caps.tightened(
            max_iterations=max_iterations,
            max_cost_per_task_usd=max_cost_per_task_usd,
            max_daily_cost_usd=max_daily_cost_usd,
        )

    def check(self) -> None:
        """Tell before any work whether a first call would find room. Nothing is booked. Raises CapReached."""
        try:
            self._booked(SMALLEST_FIRST_CALL, SMALLEST_FIRST_ANSWER, _only_looking)
        except _Affordable:
            return

    def keeping_back(self, calls: int) -> AttemptMeter:
        """Return the same till with so many calls fewer, though never none: they are for later."""
        meter, most = copy.copy(self), self._caps.max_iterations
        meter._caps = replace(self._caps, max_iterations=max(min(1, most), most - calls))
        return meter

    def reserve(self, input_tokens: int, wanted_output: int) -> Reservation:
        """Set the worst case of the next call aside, with as much output as every cap leaves room for.

        Raises:
            CapReached: the attempt has no step left, or the call does not fit a budget. Nothing is booked.
        """
        if input_tokens < 0 or wanted_output < 1:
            raise ValueError(f"not a call: {input_tokens} tokens in, {wanted_output} out")
        return self._booked(input_tokens, wanted_output, lambda granted: granted)

    def _booked(
        self, input_tokens: int, wanted_output: int, use: Callable[[tuple[int, Money]], tuple[int, Money]]
    ) -> Reservation:
        made = self._ledger.calls_on_attempt(self._attempt.id)
        if made >= self._caps.max_iterations:
            raise CapReached(
                Limit.ITERATIONS,
                f"{made} of {self._caps.max_iterations} model calls ({Limit.ITERATIONS}) are used up.",
            )

        def decide(spent: Spent) -> tuple[int, Money]:
            return use(
                grant_output(
                    input_tokens=input_tokens,
                    wanted_output=wanted_output,
                    price=self._price,
                    caps=self._caps,
                    spent=spent,
                )
            )

        return self._ledger.reserve(
            self._task, self._attempt, model=self.model, price=self._price, decide=decide
        )

    def settle(self, reservation: Reservation, usage: Usage | None, billed: Money | None) -> Money:
        """Book a call at the higher of our own figure and the provider's, and return that.

        Without counts the call is booked at its reservation: whatever became of it, it cost no more. Counts
        that cannot be true are no better than none. All zero says that the provider refused the call.
        """
        counted = usage or Usage()
        computed = min(cost_of(counted, self._price), LARGEST)
        if usage is None or not _can_be_true(usage):
            computed = max(computed, reservation.amount)
        stated = _stated(billed)
        cost = computed if stated is None else max(computed, stated)
        if stated and not self._price.free:
            self._note_disagreement(computed, stated)
        self._ledger.settle(reservation, usage=counted, cost=cost, billed=stated)
        return cost

    def _note_disagreement(self, computed: Money, billed: Money) -> None:
        high, low = max(computed, billed), min(computed, billed)
        if self._disagreed or high <= low * DISAGREEMENT:
            return
        self._disagreed = True
        log.warning(
            "the provider's cost differs from the price list; the higher is booked",
            model=self.model,
            computed=str(computed),
            billed=str(billed),
        )


def _can_be_true(usage: Usage) -> bool:
    """Tell whether counts may be those of a call: none below 0, and no answer to nothing."""
    read = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return min(*read, usage.output_tokens) >= 0 and (any(read) or not usage.output_tokens)


def _stated(billed: Money | None) -> Money | None:
    """Return the provider's own figure if it is an amount of money."""
    if billed is None or not billed.is_finite() or billed < ZERO:
        return None
    return min(billed, LARGEST)
