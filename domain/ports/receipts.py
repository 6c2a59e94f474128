"""Who signs receipts, and who keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from domain.model import Attempt, Outcome
from domain.receipt import Receipt


class Signer(Protocol):
    """Holds the service's private key."""

    def seal(self, payload: bytes) -> bytes:
        """Return the signed envelope of a payload, as JSON bytes. Raises ConfigurationError without a key."""


class ReceiptLog(Protocol):
    """Receipts in the order in which they were written; each names the one before it. Nothing is changed."""

    def append(
        self,
        attempt: Attempt,
        outcome: Outcome,
        tree: str,
        write: Callable[[str], tuple[str, bytes]],
    ) -> Receipt:
        """Keep one receipt for this outcome and tree of an attempt, and return it; the old one on repetition.

        `write` gets the hash of the last receipt ("" before the first) and returns the new hash and envelope.
        Raises StaleWrite when the attempt is somebody else's, StoreUnavailable.
        """

    def of_attempt(self, attempt_id: int) -> list[Receipt]:
        """Return an attempt's receipts, oldest first."""

    def named(self, sha256: str) -> Receipt | None:
        """Return the receipt of this hash, or None."""
