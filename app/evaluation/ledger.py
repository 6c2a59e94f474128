"""The account of an evaluation: one file, appended call by call, so that its bound holds over restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from app.evaluation import lines
from domain.budget import ZERO, Spent
from domain.model import Actor, Attempt, Money, Price, Task, Usage
from domain.ports import Reservation


class FileLedger:
    """Implements `domain.ports.Ledger` over JSON lines. One process writes it."""

    def __init__(self, file: Path) -> None:
        """Read what was booked; a call whose end is not on record counts as set aside. Raises OSError."""
        self._file = file
        self._amounts: dict[int, tuple[int, Money]] = {}
        self._calls: Counter[int] = Counter()
        self._next = 1
        for record in lines.read(file):
            self._hear(int(str(record["call"])), int(str(record["attempt"])), Decimal(str(record["amount"])))

    def _hear(self, call: int, attempt: int, amount: Money) -> None:
        if call not in self._amounts:
            self._calls[attempt] += 1
        self._amounts[call] = (attempt, amount)
        self._next = max(self._next, call + 1)

    @property
    def last_attempt(self) -> int:
        """The highest number of an attempt that anything was booked for, 0 for none."""
        return max(self._calls, default=0)

    @property
    def spent(self) -> Money:
        """All that was spent or is set aside."""
        return sum((amount for _, amount in self._amounts.values()), ZERO)

    def reserve(
        self,
        task: Task,
        attempt: Attempt,
        *,
        model: str,
        decide: Callable[[Spent], tuple[int, Money]],
        price: Price | None = None,
    ) -> Reservation:
        """Ask `decide`, and book. Raises CapReached, OSError."""
        tokens, amount = decide(self.standing(task, attempt))
        call = self._next
        self._book(call, attempt.id, amount, "reserved", model)
        return Reservation(id=call, attempt_id=attempt.id, amount=amount, max_output_tokens=tokens)

    def settle(self, reservation: Reservation, *, usage: Usage, cost: Money, billed: Money | None) -> None:
        """Book what a call really cost."""
        self._book(reservation.id, reservation.attempt_id, cost, "settled", "")

    def _book(self, call: int, attempt: int, amount: Money, what: str, model: str) -> None:
        record = {"call": call, "attempt": attempt, "amount": f"{amount:f}", "what": what}
        lines.append(self._file, record | ({"model": model} if model else {}))
        self._hear(call, attempt, amount)

    def raise_cap(self, task: Task, amount: Money, *, by: Actor, comment_id: str) -> bool:
        """Nobody raises anything here."""
        return False

    def standing(self, task: Task, attempt: Attempt | None = None) -> Spent:
        """Return what is spent; the whole evaluation stands for the service's day."""
        own = self.spent_on_attempt(attempt.id) if attempt else ZERO
        return Spent(attempt=own, task=own, day=self.spent, service_day=self.spent)

    def spent_on_attempt(self, attempt_id: int) -> Money:
        """Return dollars, open reservations included."""
        return sum((amount for owner, amount in self._amounts.values() if owner == attempt_id), ZERO)

    def spent_on_task(self, task_id: int) -> Money:
        """Return dollars; a task has one attempt here."""
        return self.spent_on_attempt(task_id)

    def spent_on_day(self, forge: str, repository_id: str, day: str) -> Money:
        """Return all dollars of the evaluation."""
        return self.spent

    def calls_on_attempt(self, attempt_id: int) -> int:
        """Return how many calls were reserved, settled or not."""
        return self._calls[attempt_id]
