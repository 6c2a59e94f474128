"""Audits the simulated spending with sums of its own: what was really billed, against every cap."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from domain.budget import ZERO, Caps
from domain.model import Attempt, Money, Price, Task

Scope = tuple[str, int | str]
"""What a cap is of: ("attempt", id), ("task", id), ("repository and day", key), ("service and day", day)."""


@dataclass(slots=True)
class Call:
    """One call that the meter let through: where it counts, and the most that its tokens can cost."""

    attempt: Attempt
    task: Task
    day: str
    worst: Money
    price: Price
    beyond: Money = ZERO

    def scopes(self) -> Iterator[Scope]:
        """Return everything that the call counts against."""
        issue = self.task.issue
        yield "attempt", self.attempt.id
        yield "task", self.task.id
        yield "repository and day", f"{issue.repository_id} {self.day}"
        yield "service and day", self.day


@dataclass(slots=True)
class Audit:
    """Keeps the bill apart from the ledger. A violation is a sentence; there must be none.

    It is of one of three kinds: a call was granted that might pass a cap (`granted`), the bill passed one
    (`billed`), or the ledger holds less than the bill (`booked`).

    `committed` is what each scope has really cost, with calls in flight at their worst. `excess` is what the
    provider billed beyond the worst case of a call, which no meter can foresee; `unheard` is the part of it
    of which no answer ever told, because the worker died before.
    """

    caps: Caps
    bill: defaultdict[Scope, Money] = field(default_factory=lambda: defaultdict(lambda: ZERO))
    committed: defaultdict[Scope, Money] = field(default_factory=lambda: defaultdict(lambda: ZERO))
    excess: defaultdict[Scope, Money] = field(default_factory=lambda: defaultdict(lambda: ZERO))
    unheard: defaultdict[Scope, Money] = field(default_factory=lambda: defaultdict(lambda: ZERO))
    raised: dict[int, Money] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    hidden: Money = ZERO
    overshoot: Money = ZERO
    nearest: dict[str, Money] = field(default_factory=dict)

    def cap_of(self, scope: Scope, task_id: int) -> Money:
        """Return the cap of a scope, by the settings and what was raised; not by the code under test."""
        kind = scope[0]
        attempt = max(self.caps.max_cost_per_task_usd, self.raised.get(task_id, ZERO))
        if kind == "attempt":
            return attempt
        if kind == "task":
            return self.caps.max_attempts * attempt
        if kind == "service and day":
            return self.caps.max_daily_cost_total_usd
        return self.caps.max_daily_cost_usd

    def granted(self, call: Call) -> None:
        """Hear that a call may be made: with all that is under way it must fit every cap."""
        self.under_way(call)
        for scope in call.scopes():
            if not call.price.free:
                cap = self.cap_of(scope, call.task.id) + self.unheard[scope]
                self._must_fit(scope, call, self.committed[scope], cap, "granted")

    def under_way(self, call: Call) -> None:
        """Count a call at its worst."""
        self.seen["calls"] += 1
        for scope in call.scopes():
            self.committed[scope] += call.worst

    def billed(self, call: Call, amount: Money, *, hidden: Money = ZERO) -> None:
        """Hear what the provider really bills for a call, and what it lets nobody see."""
        beyond = call.beyond = max(ZERO, amount - call.worst)
        self.hidden += hidden
        self.seen["calls billed beyond their worst case"] += beyond > 0
        for scope in call.scopes():
            self.bill[scope] += amount
            self.committed[scope] += amount - call.worst
            self.excess[scope] += beyond
            self.unheard[scope] += beyond
            cap = self.cap_of(scope, call.task.id)
            self._must_fit(scope, call, self.bill[scope], cap + self.excess[scope], "billed")
            if beyond:
                self.overshoot = max(self.overshoot, self.bill[scope] - cap)
            share = (self.bill[scope] - self.excess[scope]) / cap
            self.nearest[scope[0]] = max(self.nearest.get(scope[0], ZERO), share)

    def answered(self, call: Call) -> None:
        """Hear that the answer, with the provider's figure in it, reached the meter."""
        for scope in call.scopes():
            self.unheard[scope] -= call.beyond
        call.beyond = ZERO

    def compare(self, ledger: Callable[[Scope], Money]) -> None:
        """Compare with what the ledger says in the end: in no scope less than the bill as far as known."""
        for scope, amount in self.bill.items():
            booked = ledger(scope)
            if booked < amount - self.unheard[scope]:
                self._note("booked", f"{scope} has {booked} in the ledger, and the bill is {amount}")

    def _must_fit(self, scope: Scope, call: Call, amount: Money, cap: Money, what: str) -> None:
        if amount > cap:
            self._note(what, f"{amount} of {cap} for one {scope[0]}, task {call.task.id}")

    def _note(self, what: str, words: str) -> None:
        self.seen[f"violation: {what}"] += 1
        if self.seen[f"violation: {what}"] <= 5:
            self.violations.append(f"{what}: {words}")
