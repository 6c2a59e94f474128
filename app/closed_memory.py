"""Closes a process' memory and environment to others of the same user; nothing else is imported here."""

from __future__ import annotations

import ctypes

PR_SET_DUMPABLE = 4


def shut_out() -> None:
    """Close this process' memory and environment to others of the same user, and leave no core dump.

    Raises:
        OSError: the kernel refused.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")
