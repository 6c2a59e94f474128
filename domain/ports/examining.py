"""What a check-up finds: lines that are fine, odd or wrong, each with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class Standing(StrEnum):
    """How it stands with one thing."""

    OK = "ok"
    WARN = "warn"
    """Works, but not as it should, or could not be looked at."""
    FAIL = "fail"
    """Does not work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One line of a check-up: what was looked at, how it stands, what was seen, and what to do about it.

    No word of it is a secret. `fix` is "" where nothing is to be done.
    """

    subject: str
    standing: Standing
    words: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the operator has set, and a forge should agree with.

    `webhook_url` is where deliveries should go, "" if that is not known. `private_only` says that commands
    run without isolation, which only private repositories may.
    """

    webhook_url: str = ""
    private_only: bool = False


@runtime_checkable
class Examining(Protocol):
    """A forge that can tell line by line how it stands with its set-up there. Changes nothing."""

    def examine(self, expected: Expected) -> Iterator[Examination]:
        """Yield the lines. What the forge does not answer is a line, too: raises nothing."""
