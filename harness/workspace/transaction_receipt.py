"""What a transaction on a working copy came to: the tree before and after, each changed file, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from domain.model import Finding


class Ending(StrEnum):
    """How a transaction ended."""

    KEPT = "kept"
    TAKEN_BACK = "taken back"
    RECOVERED = "recovered"
    """Taken back by a later process, because that of the transaction died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A path that is not as it was. Digests are SHA-256 in hexadecimal, "" where there is no content."""

    path: str
    status: str
    before: str
    after: str
    by_patch: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionReceipt:
    """`before` and `after` name the whole tree: its paths, kinds, modes and contents, `.git` apart.

    They are equal where the transaction was taken back. `patch` is the SHA-256 of what was applied, and
    `attempted` what it would have changed, also where it was taken back. `put_aside` are files that somebody
    else wrote before a recovery, kept in `aside`.
    """

    id: str
    root: str
    begun_at: datetime
    ended_at: datetime
    ending: Ending
    reason: str
    before: str
    after: str
    patch: str = ""
    attempted: tuple[str, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    findings: tuple[Finding, ...] = ()
    check: str = ""
    put_aside: tuple[str, ...] = ()
    aside: str = ""

    @property
    def kept(self) -> bool:
        """Whether the change is in the tree."""
        return self.ending is Ending.KEPT

    def as_json(self) -> str:
        """Return the receipt as one JSON object; the same receipt always gives the same bytes."""
        return json.dumps(asdict(self), indent=2, sort_keys=True, default=_plain) + "\n"


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
