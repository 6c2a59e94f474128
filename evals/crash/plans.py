"""Which deaths are tried: every named step, a choice of them, and random instants."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from evals.crash.journeys import FIX
from evals.crash.runs import Death, Plan, Result

SCRATCH = frozenset({"git read-tree", "git update-index", "git write-tree", "git checkout-index"})
"""What only fills an index or a directory that is thrown away; left out of the short choice."""

SECOND_DEATHS = 0.2
"""In which share of the random runs the next life is killed as well."""


def every_step(quiet: Result) -> Iterator[Plan]:
    """Yield a plan for each changing call of an undisturbed run: the life that was to make it dies first."""
    for life, calls in enumerate(quiet.lives):
        for at, name in enumerate(calls, 1):
            what = f"before call {at} of life {life + 1}, {name}"
            yield Plan(journey=quiet.plan.journey, deaths={life: Death(at=at)}, what=what)


def chosen_steps(quiet: Result) -> list[Plan]:
    """Return the last occurrence of each name in the run, fewer of a journey that takes long."""
    plans = list(every_step(quiet))
    names = [name for calls in quiet.lives for name in calls]
    last = {name: plan for name, plan in zip(names, plans, strict=True) if name not in SCRATCH}
    stride = 5 if quiet.plan.journey is FIX else 2 if len(quiet.lives) > 1 else 1
    return list(last.values())[::-1][::stride]


def random_instants(quiet: Sequence[Result], *, runs: int, seed: int, short: bool) -> Iterator[Plan]:
    """Yield deaths at instants spread evenly over the whole of a run, now and then two in a row."""
    dice = random.Random(seed)
    for number in range(runs):
        result = quiet[number % len(quiet)]
        if short and result.plan.journey is FIX and number % (3 * len(quiet)):
            result = quiet[-1]
        yield _at_random(result, dice)


def _at_random(quiet: Result, dice: random.Random) -> Plan:
    instant = dice.uniform(0.0, sum(quiet.seconds))
    life = 0
    while life + 1 < len(quiet.seconds) and instant > quiet.seconds[life]:
        instant -= quiet.seconds[life]
        life += 1
    deaths = {life: Death(after=instant)}
    what = f"{instant:.3f} s into life {life + 1}"
    if dice.random() < SECOND_DEATHS:
        second = dice.uniform(0.0, quiet.seconds[life])
        deaths[life + 1] = Death(after=second)
        what += f", then {second:.3f} s into the next"
    return Plan(journey=quiet.plan.journey, deaths=deaths, what=what)
