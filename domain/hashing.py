"""Hashing in small pieces, where a thread must not lose its turn."""

from __future__ import annotations

from typing import Protocol

KEPT_BYTES = 2047
"""hashlib gives up the interpreter's lock for anything longer."""


class Hash(Protocol):
    """What hashlib and hmac make."""

    def update(self, data: memoryview, /) -> None:
        """Take more data."""


def feed(hash_: Hash, data: bytes) -> None:
    """Feed data to a hash without giving up the interpreter's lock in between.

    Fed in one piece, 19 kB are hashed with the lock given up. In a process with one other busy thread, to
    get it back takes longer than to hash.
    """
    view = memoryview(data)
    for start in range(0, len(view), KEPT_BYTES):
        hash_.update(view[start : start + KEPT_BYTES])
