"""Which dropped errors are new: one whose surroundings say something else now was there before. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.guard.syntax.model import Sign, What
from harness.guard.syntax.view import View

SWALLOWS = frozenset({What.SWALLOW, What.SOFT_SWALLOW})
SIMILAR = 0.6
"""How much of its words a handler shares with one that went, 0 to 1, to be that one at another place."""
MOST_COMPARED = 200


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A sign that drops errors, and the unit that it stands in."""

    view: View
    sign: Sign

    @property
    def form(self) -> str:
        """How errors are dropped, without what is done before: `catch around`, `_ = Check ( )`."""
        return _form(self.sign.key)


def fresh(gone: Iterable[Place], came: Sequence[Place]) -> Iterator[Place]:
    """Yield those that came and are none of those that went: the same elsewhere, reworded, or moved, edited.

    In the same function one of the same form counts as reworded; in another one it has to be much alike.
    """
    known: dict[tuple[What, str], list[Place]] = {}
    for place in gone:
        known.setdefault((place.sign.what, place.sign.key), []).append(place)
    rest = []
    for place in came:
        same = known.get((place.sign.what, place.sign.key))
        if same:
            same.pop()
        else:
            rest.append(place)
    left = [place for places in known.values() for place in places][:MOST_COMPARED]
    for matches in (_is_reworded, _is_alike):
        still = []
        for place in rest:
            at = next((at for at, each in enumerate(left) if matches(each, place)), None)
            if at is None:
                still.append(place)
            else:
                del left[at]
        rest = still
    yield from rest


def _is_reworded(old: Place, new: Place) -> bool:
    return old.view.unit.short == new.view.unit.short and _is_no_worse(old, new)


def _is_alike(old: Place, new: Place) -> bool:
    if not _is_no_worse(old, new):
        return False
    words = [Counter(place.sign.key.split()) for place in (old, new)]
    total = words[0].total() + words[1].total()
    return 2 * (words[0] & words[1]).total() >= SIMILAR * total


def _is_no_worse(old: Place, new: Place) -> bool:
    is_soft = old.sign.what is What.SOFT_SWALLOW and new.sign.what is What.SWALLOW
    return old.form == new.form and not is_soft


def _form(key: str) -> str:
    head, around, _ = key.partition(" around ")
    if around:
        return head
    if re.match(r"(?:finally|ensure)\b", key):
        return key.partition(" ")[0]
    if (modifier := re.search(r" rescue (\S.{0,40})$", key)) is not None:
        return f"rescue {modifier[1]}"
    kept, depth = [], 0
    for word in key.split():
        depth -= word.startswith(")")
        if depth <= 0:
            kept.append(word)
        depth += word.startswith("(")
    return " ".join(kept)
