"""The budgets by name: which of them stopped the work, and what each bounds."""

from __future__ import annotations

from enum import StrEnum


class Limit(StrEnum):
    """Which budget stopped the work: the setting's name, or how it follows from two of them."""

    ITERATIONS = "max_iterations"
    TASK_COST = "max_cost_per_task_usd"
    TASK_TOTAL = "max_attempts x max_cost_per_task_usd"
    DAILY_COST = "max_daily_cost_usd"
    SERVICE_DAILY_COST = "max_daily_cost_total_usd"
    WALL_CLOCK = "max_minutes"

    @property
    def words(self) -> str:
        """The name with what it bounds, for people."""
        return f"{self} ({_BOUNDS[self]})"

    @property
    def is_daily(self) -> bool:
        """Tell whether the next UTC day brings new room."""
        return self in {Limit.DAILY_COST, Limit.SERVICE_DAILY_COST}


_BOUNDS = {
    Limit.ITERATIONS: "model calls of one attempt",
    Limit.TASK_COST: "dollars of one attempt",
    Limit.TASK_TOTAL: "dollars of all attempts at one issue",
    Limit.DAILY_COST: "dollars of this repository on one UTC day",
    Limit.SERVICE_DAILY_COST: "dollars of all repositories on one UTC day",
    Limit.WALL_CLOCK: "minutes of one attempt",
}
