"""Deliveries for the console: page by page, chosen by what was decided about them. Read only."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from domain.ports import Admission
from store.board import Scope
from store.database import Database
from store.history import DeliveryRecord, delivery_from

_PAGE = """
    SELECT deliveries.*, coalesce(signals.decision, errands.decision) AS decision,
        coalesce(signals.decided_at, errands.decided_at) AS decided_at,
        (SELECT content IS NOT NULL FROM body_packs WHERE body_packs.id = body_pack) AS has_body
    FROM (
        SELECT id, provider, delivery_id, received_at, kind, repository_id, issue_number, actor, note,
            admission, task_id, body_pack
        FROM deliveries
        WHERE (:before IS NULL OR id < :before) AND (:only IS NULL OR id = :only)
            AND (:admission IS NULL OR admission = :admission)
            AND (:scope IS NULL OR EXISTS (
                SELECT 1 FROM json_each(:scope) AS place
                WHERE json_extract(place.value, '$[1]') = deliveries.repository_id
                    AND (json_extract(place.value, '$[0]') = deliveries.provider OR deliveries.task_id IN (
                        SELECT id FROM tasks WHERE tasks.forge = json_extract(place.value, '$[0]')
                            AND tasks.repository_id = deliveries.repository_id))))
        ORDER BY id DESC
        LIMIT :limit
    ) AS deliveries
    LEFT JOIN signals ON signals.delivery = deliveries.id
    LEFT JOIN errands ON errands.delivery = deliveries.id
    ORDER BY deliveries.id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDelivery:
    """A delivery in the list; `has_body` tells whether retention has left what was received."""

    record: DeliveryRecord
    has_body: bool


class DeliveryList:
    """The deliveries that left a record, newest first."""

    def __init__(self, database: Database) -> None:
        """Take a migrated database."""
        self._database = database

    def page(
        self,
        limit: int,
        *,
        before: int | None = None,
        admission: Admission | None = None,
        scope: Scope = None,
    ) -> list[ListedDelivery]:
        """Return at most `limit` deliveries that came before that record."""
        return self._read(limit=limit, before=before, admission=admission, scope=scope, only=None)

    def one(self, record_id: int, scope: Scope = None) -> ListedDelivery | None:
        """Return one delivery, None where there is none that may be seen."""
        found = self._read(limit=1, before=None, admission=None, scope=scope, only=record_id)
        return found[0] if found else None

    def _read(
        self,
        *,
        limit: int,
        before: int | None,
        admission: Admission | None,
        scope: Scope,
        only: int | None,
    ) -> list[ListedDelivery]:
        values = {
            "limit": limit,
            "before": before,
            "only": only,
            "admission": admission.value if admission else None,
            "scope": None if scope is None else json.dumps(sorted(scope)),
        }
        with self._database.read() as connection:
            rows = connection.execute(_PAGE, values).fetchall()
        return [_listed(row) for row in rows]


def _listed(row: sqlite3.Row) -> ListedDelivery:
    return ListedDelivery(record=delivery_from(row), has_body=bool(row["has_body"]))
