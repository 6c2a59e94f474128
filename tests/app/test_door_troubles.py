"""The door in trouble: slow senders, a locked database, a full disk. Told at once, nothing half stored."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from store.database import Database
from tests.app.doors import Shop
from tests.app.senders import encoded, labelled


@contextmanager
def locked_by_another_process(database: Database) -> Iterator[sqlite3.Connection]:
    assert isinstance(database.path, Path)
    other = sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        if other.in_transaction:
            other.execute("ROLLBACK")
        other.close()


def test_a_lock_that_is_let_go_delays_but_loses_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path)

    async def work() -> list[int]:
        with locked_by_another_process(shop.database) as other:
            waiting = [asyncio.create_task(shop.deliver(f"d{number}")) for number in range(5)]
            await asyncio.sleep(0.1)
            assert not any(task.done() for task in waiting)
            other.execute("ROLLBACK")
            return await asyncio.gather(*waiting)

    assert shop.run(work) == [202] * 5
    assert sorted(shop.stored()) == ["d0", "d1", "d2", "d3", "d4"]


def test_a_database_locked_for_too_long_is_503_and_the_redelivery_is_taken(tmp_path: Path) -> None:
    shop = Shop(tmp_path, patience=0.05)
    payload = labelled()

    async def work() -> None:
        with locked_by_another_process(shop.database):
            assert await asyncio.gather(*(shop.deliver(f"d{n}", labelled()) for n in range(5))) == [503] * 5
            assert await shop.deliver("again", payload) == 503
        assert await shop.deliver("again", payload) == 202

    shop.run(work)
    assert shop.stored() == ["again"]
    assert len(shop.rings) == 1


def test_a_full_disk_is_503_with_no_half_rows_and_passes_when_there_is_room(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    incompressible = "".join(chr(33 + (number * number + number // 7) % 90) for number in range(200_000))
    payload = labelled(issue={"body": incompressible})

    async def work() -> None:
        _limit_pages(shop.database, 0)
        assert await shop.deliver("full", payload) == 503
        assert shop.stored() == []
        _limit_pages(shop.database, 1_000_000)
        assert await shop.deliver("full", payload) == 202

    shop.run(work)
    assert shop.stored() == ["full"]


def _limit_pages(database: Database, pages: int) -> None:
    """Make the database file unable to grow beyond so many pages (0: beyond its present ones)."""
    with database.write() as connection:
        connection.execute(f"PRAGMA max_page_count = {max(pages, 1)}")


def test_f110_a_slow_body_is_408_and_the_connection_ends(tmp_path: Path) -> None:
    shop = Shop(tmp_path, read_seconds=0.05)
    first = {"type": "http.request", "body": b"{", "more_body": True}

    async def work() -> None:
        for messages in ([], [first]):
            start = await shop.request(messages, b"{}")
            assert start["status"] == 408
            assert (b"connection", b"close") in start["headers"]

    shop.run(work)
    assert shop.stored() == []


def test_a_sender_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    messages = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    assert shop.run(lambda: shop.request(messages, b"{}"))["status"] is None
    assert shop.stored() == []


def test_f110_many_unfinished_bodies_do_not_fill_the_memory(tmp_path: Path) -> None:
    shop = Shop(tmp_path, read_seconds=0.3)
    part = {"type": "http.request", "body": b"x" * 900_000, "more_body": True}

    async def work() -> list[int | None]:
        slow = [asyncio.create_task(shop.request([part, {**part, "body": b"x"}], b"")) for _ in range(8)]
        statuses = [(await task)["status"] for task in slow]
        body = encoded(labelled())
        halves = [
            {"type": "http.request", "body": body[:9], "more_body": True},
            {"type": "http.request", "body": body[9:]},
        ]
        after = await shop.request(halves, body, "after")
        return [*statuses, after["status"]]

    *slow, after = shop.run(work)
    assert set(slow) == {408, 503}
    assert after == 202, "what was held is given back"


@pytest.mark.parametrize("size", [2**20 + 1, 3 * 2**20])
def test_one_long_message_is_413(tmp_path: Path, size: int) -> None:
    shop = Shop(tmp_path)
    message = {"type": "http.request", "body": b"x" * size}
    assert shop.run(lambda: shop.request([message], b""))["status"] == 413
