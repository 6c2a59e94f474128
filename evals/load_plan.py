"""What `make load` sends: distinct deliveries, repetitions of both kinds, bad signatures; shuffled. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from evals.door_load import FIRST_NUMBER

DUPLICATES = 0.30
BAD_SIGNATURES = 0.05
TASKS = 0.02
"""Of the distinct deliveries, how many put on the label that asks for work. The others' label does not."""

ASKING, OTHER = "bug", "question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One request. Two sendings with the same number have the same bytes as their body."""

    number: int
    delivery_id: str
    label: str
    well_signed: bool = True


def planned(total: int, seed: int, *, open_issues: Sequence[int] = ()) -> list[Sending]:
    """Return the sendings in their shuffled order; a repetition may well come before its original.

    `open_issues` are numbers of real issues that are asked for besides the made-up ones.
    """
    dice = random.Random(seed)
    bad_count, repeated_count = round(total * BAD_SIGNATURES), round(total * DUPLICATES)
    originals = _originals(total - bad_count - repeated_count, open_issues)
    repeated = [_again(dice.choice(originals), place) for place in range(repeated_count)]
    sendings = originals + repeated + [_forged(place, dice.choice(originals)) for place in range(bad_count)]
    dice.shuffle(sendings)
    return sendings


def _originals(count: int, open_issues: Sequence[int]) -> list[Sending]:
    asked = round(count * TASKS)
    numbers = [*open_issues[:asked], *range(FIRST_NUMBER, FIRST_NUMBER + count)][:count]
    return [
        Sending(number=number, delivery_id=f"load-{number}", label=ASKING if place < asked else OTHER)
        for place, number in enumerate(numbers)
    ]


def _again(original: Sending, place: int) -> Sending:
    """Return a repetition: as a forge delivers again (same id), or the same body under a new id."""
    delivery_id = original.delivery_id if place % 2 else f"again-{place}"
    return Sending(number=original.number, delivery_id=delivery_id, label=original.label)


def _forged(place: int, victim: Sending) -> Sending:
    """Return a delivery with a bad signature; every other one uses the id of a good one."""
    number = FIRST_NUMBER + 500_000_000 + place
    delivery_id = victim.delivery_id if place % 2 else f"forged-{place}"
    return Sending(number=number, delivery_id=delivery_id, label=ASKING, well_signed=False)
