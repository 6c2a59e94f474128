"""The suspects of an attempt as its receipt has them: the signed record is where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.envelope import BadReceipt, unwrap
from domain.receipt import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSuspect:
    """A place that the fix may touch, best first; lines 0 mean the whole file."""

    path: str
    symbol: str
    first_line: int
    last_line: int


def suspects_in(receipts: Sequence[Receipt]) -> tuple[KnownSuspect, ...]:
    """Return the suspects of the newest receipt, none where there is none that can be read."""
    if not receipts:
        return ()
    try:
        found = unwrap(receipts[-1].envelope).predicate.get("suspects")
    except BadReceipt:
        return ()
    suspects = []
    for each in found if isinstance(found, list) else []:
        if not isinstance(each, dict):
            continue
        lines = each.get("lines")
        first, last = lines if isinstance(lines, list) and len(lines) == 2 else (0, 0)
        suspects.append(
            KnownSuspect(
                path=str(each.get("path") or ""),
                symbol=str(each.get("symbol") or ""),
                first_line=first if isinstance(first, int) else 0,
                last_line=last if isinstance(last, int) else 0,
            )
        )
    return tuple(suspects)
