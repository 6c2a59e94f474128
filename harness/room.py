"""A full disk: told apart from other troubles, in words that say what to do, and looked for in advance."""

from __future__ import annotations

import errno
from typing import Protocol

from domain.errors import DiskFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class Roomy(Protocol):
    """Something on a disk."""

    def free_bytes(self) -> int:
        """Return how much the disk still takes."""


def is_full(error: OSError) -> bool:
    """Tell whether something failed for want of room."""
    return error.errno in _FULL


def no_room(what: str) -> DiskFull:
    """Return the error for something that found no room."""
    return DiskFull(
        f"{what} found no room on the service's disk. Nothing is lost. The operator makes room in the data "
        "directory (FIXWRIGHT_DATA_DIR), or makes the disk larger; then the work goes on from its last step."
    )


def full_or_raise(error: OSError) -> DiskFull:
    """Return the deliberate error for a full disk; raise anything else as it is."""
    if not is_full(error):
        raise error
    return no_room("The work")


def require_room(disk: Roomy, least_bytes: int) -> None:
    """Refuse to begin work that would soon run out of room. Raises DiskFull."""
    free = disk.free_bytes()
    if free < least_bytes:
        raise no_room(f"The work ({free // 2**20} MiB are free, {least_bytes // 2**20} are needed)")
