"""Who may read what the service writes: its user alone, or the group of its data directory, too."""

from __future__ import annotations

import stat


def is_shared(directory_mode: int) -> bool:
    """Tell whether a directory hands its group on to what is made in it (setgid).

    An operator who runs the web process and the worker as two users says so by this: `chmod 2771` and a group
    that both are in.
    """
    return bool(directory_mode & stat.S_ISGID)


def file_mode(directory_mode: int) -> int:
    """Return the mode of a file in a directory of this mode, that both processes write."""
    return 0o660 if is_shared(directory_mode) else 0o600


def read_only_mode(directory_mode: int) -> int:
    """Return the mode of a file in a directory of this mode, one process writes and the other may read."""
    return 0o640 if is_shared(directory_mode) else 0o600


def inner_mode(directory_mode: int) -> int:
    """Return the mode of a directory in a directory of this mode, which one process writes."""
    return 0o2750 if is_shared(directory_mode) else 0o700
