"""Looks at the processes of a running sandbox from outside: which they are, what they hold."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants(pid: int) -> Iterator[int]:
    """Yield `pid` and all that descends from it now. An init is the parent of orphans, so none is missed."""
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        yield current
        with suppress(OSError):
            for task in Path(f"/proc/{current}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process tree uses, shared pages in proportion. Costs a page walk."""
    total = 0
    for member in descendants(pid):
        with suppress(OSError, ValueError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
    return total


def exceeds_memory(pid: int, limit: int) -> bool:
    """Tell whether a process tree uses more than `limit` bytes.

    The cheap count takes pages that parent and child still share twice; only if it is too high, the exact
    one is made.
    """
    roughly = 0
    for member in descendants(pid):
        with suppress(OSError, ValueError, IndexError):
            _, resident, shared = Path(f"/proc/{member}/statm").read_text().split()[:3]
            roughly += (int(resident) - int(shared)) * _PAGE
    return roughly > limit and memory_of(pid) > limit


def deleted_file_bytes(pid: int, devices: frozenset[int]) -> int:
    """Return the bytes of files on `devices` that a process tree holds open and that have no name."""
    sizes: dict[tuple[int, int], int] = {}
    for member in descendants(pid):
        with suppress(OSError):
            for descriptor in Path(f"/proc/{member}/fd").iterdir():
                with suppress(OSError):
                    found = descriptor.stat()
                    if found.st_nlink == 0 and stat.S_ISREG(found.st_mode) and found.st_dev in devices:
                        sizes[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(sizes.values())
