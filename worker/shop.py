"""What the worker works with: made once by the wiring, and handed to whoever works on a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from domain.budget import Caps
from domain.manners import UNPACED, PullPace
from domain.policy import MAX_RECOVERIES, Serving
from domain.ports import Clock, Forge, Ledger, PriceList, TaskQueue, WatchLog
from domain.ports.contracts import Contracts
from domain.ports.reviewing import ReviewLog
from domain.text import Redactor
from harness.attempt import Bench
from harness.presenting import Manners
from harness.publish import PLAIN
from worker.guest_room import Room
from worker.model_pause import ModelPause
from worker.notices import Notices
from worker.receipts import ReceiptClerk
from worker.signals import SignalDesk
from worker.waiting_room import WaitingRoom


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """What the worker works with; made once by the wiring."""

    queue: TaskQueue
    ledger: Ledger
    forges: Mapping[str, Forge]
    bench: Bench
    clock: Clock
    desk: SignalDesk
    caps: Caps
    model: str
    price_of: PriceList
    transcripts: Path
    redact: Redactor
    receipts: ReceiptClerk
    watches: WatchLog
    reviews: ReviewLog
    serving: Serving
    contracts: Contracts
    lease_seconds: float
    beat_seconds: float = 1.0
    least_free_bytes: int = 0
    max_task_retries: int = MAX_RECOVERIES
    manners: Manners = PLAIN
    pull_pace: PullPace = UNPACED
    pause: ModelPause | None = None
    waiting: WaitingRoom | None = None
    status_seconds: float = 20.0
    """At least so many seconds pass between two writings of a status comment."""
    guests: Room | None = None

    @property
    def notices(self) -> Notices:
        """What speaks for this worker's tasks."""
        return Notices(
            queue=self.queue,
            ledger=self.ledger,
            forges=self.forges,
            redact=self.redact,
            caps=self.caps,
            reviews=self.reviews,
            clock=self.clock,
            pages=self.receipts.pages,
        )
