"""The single writer: deliveries that wait together are stored together, with one commit and one fsync."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import structlog

from domain.errors import StoreUnavailable
from domain.events import Event
from domain.ports import Admission, Admitted, Delivery, Inbox

log = structlog.get_logger(__name__)

LARGEST_BATCH = 256
"""Deliveries. More wait for the next commit, so that a burst does not delay its first ones without bound."""

PATIENCE_SECONDS = 5.0
"""How long a delivery waits for its commit before its sender is told to come back."""

RETRY_SECONDS = 2.0
"""How long a failed batch is tried again, delivery by delivery, before the rest is given up."""

_STIRRING = frozenset({Admission.QUEUED, Admission.SIGNAL, Admission.ERRAND})


class NotStored(Exception):
    """A delivery could not be made durable now; nothing of it is to be relied on."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    delivery: Delivery
    answer: asyncio.Future[Admitted]


Outcome = Admitted | NotStored


class DeliveryWriter:
    """Takes deliveries from the event loop, and answers each after the commit that holds it."""

    def __init__(
        self,
        inbox: Inbox,
        admit: Callable[[Event], Admission],
        *,
        after_commit: Callable[[], object],
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """`after_commit` is called in the writer's thread whenever a commit holds work for the worker."""
        self._inbox = inbox
        self._admit = admit
        self._after_commit = after_commit
        self._patience = patience_seconds
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="delivery-writer", daemon=True)
        self._is_open = False

    @property
    def is_alive(self) -> bool:
        """Whether deliveries are being written."""
        return self._is_open and self._thread.is_alive()

    def start(self) -> None:
        """Begin to write."""
        self._is_open = True
        self._thread.start()

    def stop(self, timeout_seconds: float) -> bool:
        """Write what waits, then end; tell whether that was done in time."""
        self._is_open = False
        self._queue.put(None)
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    async def store(self, delivery: Delivery) -> Admitted:
        """Return what was decided, after the commit.

        Raises:
            NotStored: the database refused it or was not free in time, or the writer is stopping.
        """
        if not self.is_alive:
            raise NotStored("the writer is stopping")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Admitted] = loop.create_future()
        self._queue.put(_Waiting(delivery, answer))
        patience = loop.call_later(self._patience, _give_up, answer)
        try:
            return await answer
        finally:
            patience.cancel()

    # -- in the writer's thread ---------------------------------------------------------------------

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, is_last = self._gather(first)
            self._write([item for item in batch if not item.answer.done()])
            if is_last:
                return

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        """Return all that waits now, and whether the order to stop was among it."""
        batch = [first]
        while len(batch) < LARGEST_BATCH:
            try:
                item = self._queue.get_nowait()
            except Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _write(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        outcomes = self._accept(batch)
        if any(isinstance(each, Admitted) and each.admission in _STIRRING for each in outcomes):
            self._after_commit()
        loop = batch[0].answer.get_loop()
        loop.call_soon_threadsafe(_settle, batch, outcomes)

    def _accept(self, batch: Sequence[_Waiting]) -> list[Outcome]:
        deliveries = [item.delivery for item in batch]
        try:
            return [*self._inbox.accept(deliveries, self._admit)]
        except StoreUnavailable as error:
            log.error("database unavailable", deliveries=len(batch), error=str(error))
            return [NotStored("the database does not take deliveries now")] * len(batch)
        except Exception:
            log.exception("batch not stored", deliveries=len(batch))
        return self._accept_singly(deliveries)

    def _accept_singly(self, deliveries: Sequence[Delivery]) -> list[Outcome]:
        """Keep one bad delivery from failing the others of its batch; give up when time is up."""
        deadline = time.monotonic() + RETRY_SECONDS
        outcomes: list[Outcome] = []
        for delivery in deliveries:
            if time.monotonic() > deadline:
                outcomes.append(NotStored("the database does not take deliveries now"))
                continue
            try:
                outcomes += self._inbox.accept([delivery], self._admit)
            except Exception as error:
                log.exception("delivery not stored", delivery=delivery.delivery_id)
                outcomes.append(NotStored(type(error).__name__))
        return outcomes


def _give_up(answer: asyncio.Future[Admitted]) -> None:
    if not answer.done():
        answer.set_exception(NotStored("the database was not free in time"))


def _settle(batch: Sequence[_Waiting], outcomes: Sequence[Outcome]) -> None:
    """Answer all waiting senders in one turn of the event loop."""
    for item, outcome in zip(batch, outcomes, strict=True):
        if item.answer.done():
            continue
        if isinstance(outcome, NotStored):
            item.answer.set_exception(outcome)
        else:
            item.answer.set_result(outcome)
