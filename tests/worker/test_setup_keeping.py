"""Results of set-ups are kept within their days and their space."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.setup.cache import Record, SetupCache
from tests.store.makers import SetClock
from worker.retention import Keeping
from worker.setup_keeping import keep_setups


class Disk:
    def __init__(self, free: int) -> None:
        self.free = free

    def free_bytes(self) -> int:
        return self.free


@pytest.fixture
def cache(tmp_path: Path) -> SetupCache:
    """Three results of 100 bytes each, used 1, 2 and 3 days ago; nobody holds them."""
    cache, clock = SetupCache(tmp_path / "setups", 10**9, settle=None), SetClock()
    for days in (1, 2, 3):
        made = tmp_path / "made"
        made.mkdir()
        entry = cache.publish("local", "7", f"k{days}", made, Record(made=(), home=(), remarks=(), bytes=100))
        assert entry is not None
        os.close(entry.hold)
        used = (clock.now() - timedelta(days=days)).timestamp()
        os.utime(entry.path / "record.json", (used, used))
    return cache


@pytest.mark.parametrize(
    ("keeping", "free", "left"),
    [
        (Keeping(age=timedelta(days=9), most_bytes=300), 1000, ["k3", "k2", "k1"]),
        (Keeping(age=timedelta(days=2, hours=1), most_bytes=300), 1000, ["k2", "k1"]),
        (Keeping(age=timedelta(days=9), most_bytes=150), 1000, ["k1"]),
        (Keeping(age=timedelta(days=9), most_bytes=300), 10, []),
    ],
)
def test_age_space_and_a_full_disk_decide(
    cache: SetupCache, keeping: Keeping, free: int, left: list[str]
) -> None:
    list(keep_setups(cache, Disk(free), SetClock(), keeping, least_free_bytes=100))
    assert [path.name for path, _, _ in cache.entries()] == left


def test_one_in_use_stays(cache: SetupCache) -> None:
    entry = cache.find("local", "7", "k3")
    assert entry is not None
    list(keep_setups(cache, Disk(0), SetClock(), Keeping(age=timedelta(0), most_bytes=0), least_free_bytes=1))
    assert [path.name for path, _, _ in cache.entries()] == ["k3"]
    os.close(entry.hold)


def test_using_a_result_makes_it_the_newest(cache: SetupCache) -> None:
    entry = cache.find("local", "7", "k3")
    assert entry is not None
    os.close(entry.hold)
    newest = cache.entries()[-1]
    assert newest[0].name == "k3" and datetime.now(UTC) - newest[1] < timedelta(minutes=5)
