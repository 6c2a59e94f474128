"""Checks a chain of receipts: each one's form, signature and hash, and that each names the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from domain.envelope import BadReceipt, unwrap
from domain.receipt import Receipt, text_at
from harness.receipt_key import check


def broken_links(receipts: Sequence[Receipt], public: Ed25519PublicKey) -> Iterator[str]:
    """Yield what does not hold, in words; nothing where all is right. `receipts` are oldest first."""
    previous = ""
    for receipt in receipts:
        try:
            opened = unwrap(receipt.envelope)
            check(opened, public)
        except BadReceipt as error:
            yield f"receipt {receipt.sha256}: {error}"
        else:
            if opened.sha256 != receipt.sha256:
                yield f"receipt {receipt.sha256}: its content has another hash"
            if text_at(opened.predicate, "previous") != previous:
                yield f"receipt {receipt.sha256}: the one before it is missing, or another one"
        previous = receipt.sha256
