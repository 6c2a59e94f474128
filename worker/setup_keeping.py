"""Keeps the results of set-ups within their days and their space; never removes one that is in use."""

from __future__ import annotations

from domain.ports import Clock
from harness.room import Roomy
from harness.setup.cache import SetupCache
from worker.housekeeping import Steps
from worker.retention import Keeping


def keep_setups(
    cache: SetupCache, disk: Roomy, clock: Clock, keeping: Keeping, *, least_free_bytes: int
) -> Steps:
    """Evict what is old, and the longest unused until the rest fits and enough of the disk is free.

    Raises OSError.
    """
    entries = cache.entries()
    total = sum(size for _, _, size in entries)
    for path, used_at, size in entries:
        is_tight = total > keeping.most_bytes or disk.free_bytes() < least_free_bytes
        if clock.now() - used_at < keeping.age and not is_tight:
            return
        if cache.evict(path):
            total -= size
        yield 0.0
