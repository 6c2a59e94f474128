"""The inbox: many deliveries and all that follows from them become durable in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from domain.events import Event
from domain.model import Category
from domain.ports import Admission, Admitted, Delivery, Inbox
from store.admission import Batch
from store.bodies import pack
from store.database import Database
from store.rows import time_text

_FORGETTABLE = """
    SELECT id FROM (
        SELECT id, received_at, sum(length(content)) OVER (ORDER BY received_at DESC, id DESC) AS up_to_it
        FROM body_packs WHERE content IS NOT NULL
    )
    WHERE received_at < :before OR up_to_it > :most
    ORDER BY received_at, id
    LIMIT :limit
"""


class SqliteInbox(Inbox):
    """`domain.ports.Inbox` on a database."""

    def __init__(
        self, database: Database, categories: Mapping[str, Category], most_queued: int | None = None
    ) -> None:
        """Take a migrated database, and which label (lower case) asks for which kind of work.

        `most_queued` is how many tasks of one repository may wait; None: any number.
        """
        self._database = database
        self._categories = dict(categories)
        self._most_queued = most_queued

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
        packed = pack([delivery.body for delivery in deliveries])
        with self._database.write() as connection:
            batch = Batch(connection, deliveries, self._categories, packed, self._most_queued)
            answers = [
                batch.take(position, delivery, wish)
                for position, (delivery, wish) in enumerate(zip(deliveries, wishes, strict=True))
            ]
            batch.write()
        return answers

    def forget_bodies(
        self, received_before: datetime, most_bytes: int | None = None, *, at_most: int = 1000
    ) -> int:
        """Drop raw bodies that are old, or the oldest beyond `most_bytes`; return how many packs went.

        At most `at_most` packs at once, so that the write lock is soon free again. What was decided, and the
        keys by which a repetition is known, stay.
        """
        values = {"before": time_text(received_before), "most": most_bytes, "limit": at_most}
        with self._database.read() as connection:
            old = [(row["id"],) for row in connection.execute(_FORGETTABLE, values).fetchall()]
        if not old:
            return 0
        with self._database.write() as connection:
            connection.executemany("UPDATE body_packs SET content = NULL WHERE id = ?", old)
        return len(old)
