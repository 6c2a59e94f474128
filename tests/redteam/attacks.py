"""The list of attacks: every number that must be tried, by section, and what it is in a few words."""

from __future__ import annotations

import re
from collections.abc import Iterator

SECTIONS = {
    "A": "sandbox escape, secrets",
    "B": "resources, cleanup",
    "C": "git",
    "D": "tokens, forge",
    "E": "text, claims, verification",
    "F": "webhook, who and how much",
}

NUMBERS: dict[str, tuple[int, ...]] = {
    "A": (1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 16, 17, 18),
    "B": (19, 20, 21, 22, 23, 25, 26),
    "C": (*range(27, 70), 71, 73, 75, 76, 77, 78, 79, 81, 82, 83, 84),
    "D": (85, 87, 88, 89, 90, 92),
    "E": (93, 94, 95, 96, 97, 99, 101, 102, 103, 105, 106),
    "F": (107, 108, 110, 112, 114, 115, 116, 117, 118, 119, 120, 122, 124, 125, 127),
}

_IN_A_NAME = re.compile(r"test_([a-f])(\d+)(?:_to_[a-f](\d+))?_")
_IN_AN_ID = re.compile(r"\[(?:[^\]]*-)?([a-f])(\d+) ")


def attacks_of(test: str) -> Iterator[tuple[str, int]]:
    """Yield the (section, number) that a test's name, with its parameters, stands for.

    A test of a range names its own attack in its id; without one it stands for the whole range.
    """
    name = _IN_A_NAME.search(test)
    if name is None:
        return
    chosen = _IN_AN_ID.search(test)
    if chosen is not None:
        yield chosen[1].upper(), int(chosen[2])
        return
    section, first, last = name[1].upper(), int(name[2]), int(name[3] or name[2])
    yield from ((section, number) for number in NUMBERS[section] if first <= number <= last)
