"""The writer: waiting deliveries share a commit, a bad one fails alone, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from app.group_commit import LARGEST_BATCH, DeliveryWriter, NotStored
from domain.errors import StoreUnavailable
from domain.events import Event, Uninteresting
from domain.ports import Admission, Admitted, Delivery, Inbox

Answer = Admitted | BaseException


def delivery(name: str) -> Delivery:
    return Delivery(
        provider="local",
        delivery_id=name,
        body_sha256=name,
        body=b"",
        received_at=datetime.now(UTC),
        event=Uninteresting(why="test"),
    )


def queued(_: Event) -> Admission:
    return Admission.QUEUED


class GatedInbox(Inbox):
    """Remembers its batches; the first waits at the gate, so that others queue up behind it.

    A transaction with a bad delivery in it fails.
    """

    def __init__(self, bad: Sequence[str] = (), error: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self.entered = threading.Event()
        self.gate = threading.Event()
        self._bad = set(bad)
        self._error = error or ValueError("bad delivery")

    def accept(self, deliveries: Sequence[Delivery], admit: Callable[[Event], Admission]) -> list[Admitted]:
        self.entered.set()
        assert self.gate.wait(10)
        ids = [each.delivery_id for each in deliveries]
        self.batches.append(ids)
        if self._bad & set(ids):
            raise self._error
        return [Admitted(admission=admit(each.event), task_id=int(each.delivery_id)) for each in deliveries]


def store_behind_a_gate(
    inbox: GatedInbox,
    count: int,
    *,
    admit: Callable[[Event], Admission] = queued,
    rings: list[bool] | None = None,
) -> list[Answer]:
    """Store delivery 0, and 1 to `count` while it is being written; return all answers."""

    heard = [] if rings is None else rings

    async def work() -> list[Answer]:
        writer = DeliveryWriter(inbox, admit, after_commit=lambda: heard.append(True))
        writer.start()
        first = asyncio.create_task(writer.store(delivery("0")))
        assert await asyncio.to_thread(inbox.entered.wait, 10)
        others = [asyncio.create_task(writer.store(delivery(str(number)))) for number in range(1, count + 1)]
        await asyncio.sleep(0)
        inbox.gate.set()
        answers = await asyncio.gather(first, *others, return_exceptions=True)
        assert await asyncio.to_thread(writer.stop, 5)
        return answers

    return asyncio.run(work())


def test_what_waits_together_is_committed_together_and_answered_in_order() -> None:
    inbox = GatedInbox()
    answers = store_behind_a_gate(inbox, 20)
    assert inbox.batches == [["0"], [str(number) for number in range(1, 21)]]
    assert [answer.task_id for answer in answers if isinstance(answer, Admitted)] == list(range(21))


def test_a_batch_is_bounded() -> None:
    inbox = GatedInbox()
    store_behind_a_gate(inbox, LARGEST_BATCH + 5)
    assert [len(batch) for batch in inbox.batches] == [1, LARGEST_BATCH, 5]


@pytest.mark.long
def test_one_bad_delivery_does_not_fail_the_others() -> None:
    answers = store_behind_a_gate(GatedInbox(bad=["3"]), 5)
    assert [type(answer) for answer in answers] == [Admitted] * 3 + [NotStored] + [Admitted] * 2


def test_an_unavailable_database_fails_the_batch_at_once_and_no_later_one() -> None:
    inbox = GatedInbox(bad=["1"], error=StoreUnavailable("disk full"))
    answers = store_behind_a_gate(inbox, 3)
    assert [type(answer) for answer in answers] == [Admitted, NotStored, NotStored, NotStored]
    assert len(inbox.batches) == 2, "a full disk is not asked again for every delivery"


@pytest.mark.parametrize(
    ("admission", "rings"),
    [
        (Admission.QUEUED, 1),
        (Admission.SIGNAL, 1),
        (Admission.UNINTERESTING, 0),
        (Admission.DUPLICATE, 0),
        (Admission.NOT_SERVED, 0),
    ],
)
def test_the_worker_is_woken_once_per_commit_that_holds_work(admission: Admission, rings: int) -> None:
    heard: list[bool] = []
    store_behind_a_gate(GatedInbox(), 7, admit=lambda _: admission, rings=heard)
    assert len(heard) == 2 * rings


def test_who_waits_too_long_is_told_so_and_is_not_stored_later() -> None:
    inbox = GatedInbox()

    async def work() -> None:
        writer = DeliveryWriter(inbox, queued, after_commit=lambda: None, patience_seconds=0.05)
        writer.start()
        first = asyncio.create_task(writer.store(delivery("0")))
        assert await asyncio.to_thread(inbox.entered.wait, 10)
        with pytest.raises(NotStored, match="not free in time"):
            await writer.store(delivery("1"))
        inbox.gate.set()
        with pytest.raises(NotStored):
            await first
        assert await asyncio.to_thread(writer.stop, 5)

    asyncio.run(work())
    assert inbox.batches == [["0"]]


def test_a_stop_finishes_what_waits_and_takes_nothing_more() -> None:
    inbox = GatedInbox()

    async def work() -> None:
        writer = DeliveryWriter(inbox, queued, after_commit=lambda: None)
        writer.start()
        assert writer.is_alive
        waiting = [asyncio.create_task(writer.store(delivery(str(number)))) for number in range(3)]
        await asyncio.sleep(0)
        stopping = asyncio.create_task(asyncio.to_thread(writer.stop, 5))
        inbox.gate.set()
        assert await stopping
        assert len(await asyncio.gather(*waiting)) == 3
        assert not writer.is_alive
        with pytest.raises(NotStored, match="stopping"):
            await writer.store(delivery("9"))

    asyncio.run(work())


def test_a_sender_that_goes_away_harms_nobody() -> None:
    inbox = GatedInbox()

    async def work() -> None:
        writer = DeliveryWriter(inbox, queued, after_commit=lambda: None)
        writer.start()
        gone = asyncio.create_task(writer.store(delivery("0")))
        assert await asyncio.to_thread(inbox.entered.wait, 10)
        stays = asyncio.create_task(writer.store(delivery("1")))
        await asyncio.sleep(0)
        gone.cancel()
        inbox.gate.set()
        assert (await stays).task_id == 1
        assert await asyncio.to_thread(writer.stop, 5)

    asyncio.run(work())
