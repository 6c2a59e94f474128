"""Run as a process: claims and works off tasks beside another that fills the inbox; prints how many.

Usage: python -m tests.store.neighbour DATABASE COUNT. Ends after COUNT tasks; any error ends it with a trace.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from domain.model import Money, Outcome, Usage
from domain.states import Trigger
from store.database import Database
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import LEASE, WORKER, SetClock


def main() -> None:
    path, count = Path(sys.argv[1]), int(sys.argv[2])
    with Database(path) as database:
        database.migrate()
        queue, ledger = SqliteTaskQueue(database, SetClock()), SqliteLedger(database, SetClock())
        done = 0
        while done < count:
            task = queue.claim(WORKER, LEASE)
            if task is None:
                time.sleep(0.001)
                continue
            attempt = queue.begin_attempt(task)
            reservation = ledger.reserve(task, attempt, model="m", decide=lambda spent: (1, Money("0.001")))
            queue.heartbeat(task, LEASE)
            ledger.settle(reservation, usage=Usage(), cost=Money("0.0005"), billed=None)
            queue.end_attempt(attempt, Outcome.VERIFIED)
            queue.move(task, Trigger.PUBLISHED)
            done += 1
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    main()
