"""The priced model's till: refuse or reserve before a call, settle after it."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from domain.budget import Caps, Spent, cost_of, grant_output
from domain.errors import CapReached
from domain.model import Attempt, Limit, Money, Price, Task, Usage
from domain.ports import Ledger, Reservation

DISAGREEMENT = Money("1.5")
"""From this factor between our figure and the provider's own on, the difference is logged."""

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

    def tighten(self, *, max_iterations: int | None, max_cost_per_task_usd: Money | None) -> None:
        """Lower the caps to what the repository wishes for itself; they are never raised."""
        self._caps = self._caps.tightened(
            max_iterations=max_iterations, max_cost_per_task_usd=max_cost_per_task_usd
        )

    def check(self) -> None:
        """Tell before any work whether anything may be spent at all. Nothing is booked. Raises CapReached."""
        try:
            self._booked(0, 1, _only_looking)
        except _Affordable:
            return

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
                f"{made} of {self._caps.max_iterations} model calls ({Limit.ITERATIONS}) are used up",
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

    def settle(self, reservation: Reservation, usage: Usage, billed: Money | None) -> Money:
        """Book a call at the higher of our own figure and the provider's, and return that."""
        computed = cost_of(usage, self._price)
        cost = computed if billed is None else max(computed, billed)
        if billed and not self._price.free:
            self._note_disagreement(computed, billed)
        self._ledger.settle(reservation, usage=usage, cost=cost, billed=billed)
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
