"""The inbox: many deliveries and all that follows from them become durable in one transaction."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

from domain.events import Event
from domain.model import Category
from domain.ports import Admission, Admitted, Delivery, Inbox
from store.admission import Batch
from store.database import Database

_FASTEST = 1


class SqliteInbox(Inbox):
    """`domain.ports.Inbox` on a database."""

    def __init__(self, database: Database, categories: Mapping[str, Category]) -> None:
        """Take a migrated database, and which label (lower case) asks for which kind of work."""
        self._database = database
        self._categories = dict(categories)

    def accept(self, deliveries: Sequence[Delivery], admit: Callable[[Event], Admission]) -> list[Admitted]:
        """Store deliveries and what follows from each in one transaction with one fsync; answers in order.

        All or nothing: on an error no delivery of the batch is stored. Work that needs no lock (the policy,
        the compression) is done before the transaction begins.

        Raises:
            StoreUnavailable: locked for too long, or the disk is full.
        """
        if not deliveries:
            return []
        wishes = [admit(delivery.event) for delivery in deliveries]
        bodies = [zlib.compress(delivery.body, _FASTEST) for delivery in deliveries]
        with self._database.write() as connection:
            batch = Batch(connection, deliveries, self._categories)
            answers = [
                batch.take(position, delivery, wish, body)
                for position, (delivery, wish, body) in enumerate(
                    zip(deliveries, wishes, bodies, strict=True)
                )
            ]
            batch.write()
        return answers
