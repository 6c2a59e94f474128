"""What must hold after any death, as one pure function over what is left of a world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from domain.budget import ZERO
from domain.model import Attempt, Money, Task
from domain.states import FIRST_STATE, TRANSITIONS, State, Trigger
from evals.crash.journeys import Journey


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One move of the task's history."""

    trigger: Trigger
    came_from: State | None
    went_to: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """All that is left when nothing is left to do.

    `comments` are (first line, marker) of what we said; `receipts` says what is wrong with the chain
    of receipts; `published` and `verified` are tree names; `steps`
    are the step numbers in each attempt's transcript; `leftovers` names worktrees, indexes, locks, processes.
    """

    tasks: Sequence[Task]
    moves: Sequence[Move]
    attempts: Sequence[Attempt]
    branches: Sequence[str]
    pulls: Sequence[str]
    comments: Sequence[tuple[str, str]]
    spent: Money
    spent_on_attempts: Sequence[Money]
    calls_on_attempts: Sequence[int]
    billed: Money
    billed_calls: int
    receipts: Sequence[str]
    published: Sequence[str]
    verified: Sequence[str]
    unfinished: int
    steps: Sequence[Sequence[int]]
    leftovers: Sequence[str]


def steps_lost(remains: Remains, journey: Journey) -> int:
    """Return how many calls more were charged than an undisturbed run needs."""
    return max(0, remains.billed_calls - journey.steps)


def violations(remains: Remains, journey: Journey, *, kills: int) -> list[str]:
    """Return every rule that is broken, in words; [] when all is as it must be."""
    return [
        *_of_state(remains, journey),
        *_of_history(remains.moves),
        *_of_forge(remains, journey),
        *_of_money(remains, journey),
        *_of_work(remains, journey, kills),
        *(f"receipts: {problem}" for problem in remains.receipts),
        *(f"left behind: {name}" for name in remains.leftovers),
    ]


def _of_state(remains: Remains, journey: Journey) -> Iterator[str]:
    if len(remains.tasks) != 1:
        yield f"{len(remains.tasks)} tasks for one issue"
        return
    (task,) = remains.tasks
    if task.state is not journey.ends:
        yield f"the task ended {task.state} ({task.reason}), not {journey.ends}: {task.detail[:200]}"
    outcomes = tuple(attempt.outcome for attempt in remains.attempts)
    if outcomes != journey.outcomes:
        yield f"the attempts ended {[str(each) for each in outcomes]}"
    if remains.unfinished:
        yield f"{remains.unfinished} publications were begun and never finished"


def _of_history(moves: Sequence[Move]) -> Iterator[str]:
    """Follow the task's moves along the table, from its admission on."""
    stands: State | None = None
    for move in moves:
        if move.came_from is not stands:
            yield f"history: {move.trigger} came from {move.came_from}, but the task was {stands}"
        if move.came_from is None:
            legal = move.trigger is Trigger.ADMITTED and move.went_to is FIRST_STATE
        else:
            legal = TRANSITIONS[move.came_from].get(move.trigger) is move.went_to
        if not legal:
            yield f"history: {move.came_from} --{move.trigger}--> {move.went_to} is not in the table"
        stands = move.went_to
    if stands in {None, State.RUNNING, State.QUEUED}:
        yield f"history ends {stands}"


def _of_forge(remains: Remains, journey: Journey) -> Iterator[str]:
    if len(remains.branches) != journey.branches:
        yield f"branches: {list(remains.branches)}"
    if len(remains.pulls) != journey.pulls:
        yield f"pull requests: {list(remains.pulls)}"
    markers = [marker for _, marker in remains.comments]
    for marker in sorted({each for each in markers if markers.count(each) > 1}):
        yield f"comment written {markers.count(marker)} times: {marker}"
    lines = [line for line, _ in remains.comments]
    for line in sorted({each for each in lines if lines.count(each) > 1}):
        yield f"the same words {lines.count(line)} times: {line}"
    if not lines:
        yield "nobody was told anything"


def _of_money(remains: Remains, journey: Journey) -> Iterator[str]:
    caps = journey.caps
    if remains.spent < remains.billed:
        yield f"the ledger has {remains.spent}, the provider charged {remains.billed}"
    if remains.spent > caps.max_daily_cost_usd:
        yield f"the ledger has {remains.spent}, above the day's cap of {caps.max_daily_cost_usd}"
    for attempt, spent in zip(remains.attempts, remains.spent_on_attempts, strict=True):
        if spent > caps.max_cost_per_task_usd:
            yield f"attempt {attempt.number} cost {spent}, above its cap of {caps.max_cost_per_task_usd}"
    for attempt, calls in zip(remains.attempts, remains.calls_on_attempts, strict=True):
        if calls > caps.max_iterations:
            yield f"attempt {attempt.number} made {calls} calls, above its cap of {caps.max_iterations}"
    if sum(remains.spent_on_attempts, ZERO) != remains.spent:
        yield "the attempts' costs do not add up to the task's"


def _of_work(remains: Remains, journey: Journey, kills: int) -> Iterator[str]:
    lost = steps_lost(remains, journey)
    if lost > kills:
        yield f"{lost} steps were made again after {kills} kills"
    if remains.published and list(remains.published) != list(remains.verified):
        yield f"published {list(remains.published)}, verified {list(remains.verified)}"
    for attempt, steps in zip(remains.attempts, remains.steps, strict=True):
        if list(steps) != list(range(1, len(steps) + 1)):
            yield f"the transcript of attempt {attempt.number} has the steps {list(steps)}"
