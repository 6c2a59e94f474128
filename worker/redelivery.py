"""Asks forges to send again what they could not hand over, as far as it may still matter to us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.policy import Serving
from domain.ports import Asked, Capability, Clock, Forge, MissedDelivery, Redelivering, RedeliveryLog
from worker.housekeeping import Steps

log = structlog.get_logger(__name__)

OLDEST = timedelta(days=3)
"""GitHub keeps its list no longer, and what was said before that is for sweeps to judge."""

PAUSES = (timedelta(0), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6), timedelta(hours=24))
"""How long after the last request a delivery is asked for again; as often as there are pauses, no more."""

MOST_AT_ONCE = 20
"""Deliveries that are asked for in one round, oldest first; the others come in the next ones."""

ACTED_ON = frozenset(
    {"issues", "issue_comment", "pull_request", "repository", "installation", "installation_repositories"}
)
"""Events that something follows from. The rest is written down when it comes, and not missed."""


class Redeliverer:
    """Goes through the forges that keep a list of failed deliveries."""

    def __init__(
        self, record: RedeliveryLog, forges: Mapping[str, Forge], serving: Serving, clock: Clock
    ) -> None:
        self._record = record
        self._forges = forges
        self._serving = serving
        self._clock = clock

    def steps(self) -> Steps:
        """Ask once for what is due. Each step costs a few requests. Raises StoreUnavailable."""
        for name, forge in self._forges.items():
            if Capability.DELIVERIES not in forge.capabilities or not isinstance(forge, Redelivering):
                continue
            try:
                missed = forge.missed_deliveries(self._clock.now() - OLDEST)
                yield 0.0
                if missed:
                    yield from self._ask(name, forge, self._due(name, self._ours(name, forge, missed)))
            except ForgeError as error:
                log.warning("missed deliveries have to wait", forge=name, error=str(error))

    def _ask(self, name: str, forge: Redelivering, due: Sequence[MissedDelivery]) -> Steps:
        for delivery in due[:MOST_AT_ONCE]:
            self._record.note(name, delivery.guid, self._clock.now())
            try:
                forge.redeliver(delivery.id)
            except ForgeUnavailable:
                raise
            except ForgeError as error:
                log.warning("delivery cannot be sent again", delivery=delivery.guid, error=str(error))
            else:
                log.info("delivery asked for again", delivery=delivery.guid, kind=delivery.event)
            yield 0.0

    def _ours(self, name: str, forge: Forge, missed: Sequence[MissedDelivery]) -> list[MissedDelivery]:
        """Leave out what is about repositories that are not served, and what nothing follows from."""
        served = self._served_ids(name, forge)
        return [
            delivery
            for delivery in missed
            if delivery.event in ACTED_ON and (not delivery.repository_id or delivery.repository_id in served)
        ]

    def _served_ids(self, name: str, forge: Forge) -> frozenset[str]:
        """Return the ids of the served repositories, as far as they can be found now: names move on."""
        prefix, found = f"{name}:", set()
        for full in sorted(each for each in self._serving.repositories if each.startswith(prefix)):
            try:
                found.add(forge.repository_named(full.removeprefix(prefix)).id)
            except ForgeUnavailable:
                raise
            except ForgeError as error:
                log.info("repository cannot be found", repository=full, error=str(error))
        return frozenset(found)

    def _due(self, name: str, missed: Sequence[MissedDelivery]) -> list[MissedDelivery]:
        """Leave out what came after all, what was asked for just now, and what was asked for often enough."""
        guids = [delivery.guid for delivery in missed]
        known, asked = self._record.known(name, guids), self._record.asked(name, guids)
        now = self._clock.now()
        return [
            delivery
            for delivery in missed
            if delivery.guid not in known and _is_due(asked.get(delivery.guid), now)
        ]


def _is_due(asked: Asked | None, now: datetime) -> bool:
    times = asked.times if asked else 0
    if times >= len(PAUSES):
        return False
    return asked is None or now - asked.at >= PAUSES[times]
