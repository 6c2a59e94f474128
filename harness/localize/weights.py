"""What each kind of evidence counts for, by strategy: read from a table that training writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

TABLE = Path(__file__).with_name("weights.json")

CIRCUMSTANCES = frozenset(
    {
        *("package file", "language share", "importers", "vendored", "changed of late"),
        *("is class", "is special", "length"),
    }
)
"""What a place is, whatever the issue says: it may tip the scales either way, but is no evidence."""

BY_HAND = frozenset({"failing test", "like changes", "changed of late"})
"""What no development case has, and training leaves as it is."""


class Form(StrEnum):
    """How a score is made comparable before it is weighed.

    PLAIN: as it is, at most 3. ROOT: the root of that. SHARE: of the best score of the tree. SQUARE: that
    squared, so that the head counts. LOG: its logarithm, from -3 for a twentieth of the best or less up to 0.
    """

    PLAIN = "plain"
    ROOT = "root"
    SHARE = "share"
    SQUARE = "square"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Weight:
    """One line of the table."""

    feature: str
    form: Form
    weight: float


@dataclass(frozen=True, slots=True)
class Weights:
    """A strategy: what speaks for a file, and what for a part of one."""

    files: tuple[Weight, ...]
    parts: tuple[Weight, ...]

    @property
    def features(self) -> frozenset[str]:
        """Return the names of all features that are weighed."""
        return frozenset(line.feature for line in (*self.files, *self.parts))


def read_weights(table: Path = TABLE) -> dict[str, Weights]:
    """Return all strategies by name. Raises ValueError for a table that is none."""
    read: Mapping[str, Mapping[str, list[list[object]]]] = json.loads(table.read_text("utf-8"))
    return {
        name: Weights(*(tuple(_weight(line) for line in lines[of]) for of in ("files", "parts")))
        for name, lines in read.items()
    }


def _weight(line: list[object]) -> Weight:
    feature, form, weight = line
    return Weight(str(feature), Form(str(form)), float(str(weight)))
