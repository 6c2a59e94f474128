"""Proves that no cap is passed, over the real meter and ledger, and that the same without reserving fails."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

import structlog

from domain.budget import ZERO, show_money
from domain.model import Money
from evals.spend_audit import Audit
from evals.spend_provider import BEHAVIOURS
from evals.spend_race import race
from evals.spend_world import CheckingMeter, World
from harness.meter import AttemptMeter

RACING_SHARE = 20
"""One task in so many is spent by two processes that race for one ledger."""

MEMORY_DISK = Path("/dev/shm")


@dataclass(slots=True)
class Result:
    """What some simulations came to together."""

    tasks: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    billed: Money = ZERO
    hidden: Money = ZERO
    overshoot: Money = ZERO
    nearest: dict[str, Money] = field(default_factory=dict)

    @classmethod
    def of(cls, audit: Audit, tasks: int) -> Result:
        """Take what an audit saw of so many tasks."""
        return cls(
            tasks=tasks,
            seen=audit.seen,
            violations=audit.violations,
            billed=sum((amount for scope, amount in audit.bill.items() if scope[0] == "task"), ZERO),
            hidden=audit.hidden,
            overshoot=audit.overshoot,
            nearest=audit.nearest,
        )

    def merge(self, other: Result) -> Result:
        """Take another result in."""
        self.tasks += other.tasks
        self.seen += other.seen
        self.violations += other.violations
        self.billed += other.billed
        self.hidden += other.hidden
        self.overshoot = max(self.overshoot, other.overshoot)
        for kind, share in other.nearest.items():
            self.nearest[kind] = max(self.nearest.get(kind, ZERO), share)
        return self

    @property
    def count(self) -> int:
        """How many violations there were."""
        return sum(self.seen[f"violation: {kind}"] for kind in ("granted", "billed", "booked"))

    @property
    def passed_caps(self) -> int:
        """How often a bill was beyond a cap."""
        return self.seen["violation: billed"]


def quiet() -> None:
    """Let the parts log nothing: there are thousands of orphans and lies here."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def simulate(store: Path | Literal[":memory:"], seed: int, tasks: int, *, reserving: bool = True) -> Result:
    """Run one simulation in this process."""
    meter = AttemptMeter if reserving else CheckingMeter
    return Result.of(World(path=store, seed=seed, tasks=tasks, meter=meter).run(), tasks)


def prove(tasks: int, seed: int, directory: Path) -> tuple[Result, Result, Result]:
    """Return the proof, the race, and the proof's own test: what happens without reservations.

    Two simulations run side by side, one per core of a small machine: on a file, and in SQLite's memory.
    """
    on_file = max(1, tasks * 2 // 5)
    unreserved = max(100, tasks // 20)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), initializer=quiet) as pool:
        running = [pool.submit(simulate, directory / "proof.sqlite3", seed, on_file)]
        if tasks > on_file:
            running.append(pool.submit(simulate, ":memory:", seed + 1, tasks - on_file))
        without = pool.submit(simulate, ":memory:", seed, unreserved, reserving=False)
        proof = Result()
        for each in running:
            proof.merge(each.result())
        control = without.result()
    racing = max(20, tasks // RACING_SHARE)
    raced = Result.of(race(directory / "race.sqlite3", seed, racing, quiet), racing)
    return proof, raced, control


@contextmanager
def fast_directory() -> Iterator[Path]:
    """Give a directory in memory where the machine has one: every commit is synchronous all the same."""
    base = MEMORY_DISK if os.access(MEMORY_DISK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="spend-proof-", dir=base) as directory:
        yield Path(directory)


def table(proof: Result, raced: Result, control: Result) -> Iterator[str]:
    """Write the results as lines for people."""
    yield f"{'':46}{'simulated':>12}{'two processes':>15}{'no reserving':>14}"
    rows: list[tuple[str, Sequence[object]]] = [
        ("tasks", [each.tasks for each in (proof, raced, control)]),
        ("model calls", [each.seen["calls"] for each in (proof, raced, control)]),
        ("really billed", [show_money(each.billed) for each in (proof, raced, control)]),
    ]
    names = [*BEHAVIOURS, "crashes", "tasks taken from a worker", "stale workers stopped", "caps raised"]
    names += ["people's retries", *sorted(name for name in proof.seen if name.startswith("refused by"))]
    rows += [(f"  {name}", [each.seen[name] for each in (proof, raced, control)]) for name in names]
    for kind in ("attempt", "task", "repository and day", "service and day"):
        shares = [_percent(each.nearest.get(kind)) for each in (proof, raced, control)]
        rows.append((f"most of the cap of one {kind}", shares))
    for name, cells in rows:
        yield f"{name:46}{cells[0]!s:>12}{cells[1]!s:>15}{cells[2]!s:>14}"
    beyond = "calls billed beyond their worst case"
    yield (
        f"{beyond}: {proof.seen[beyond]}; the most by which they took a cap over: "
        f"{show_money(proof.overshoot)}, and once the meter was told, no call was granted there"
    )
    yield f"reported too little, hidden until the invoice, and so in no sum above: {show_money(proof.hidden)}"
    yield (
        f"violations: {proof.count + raced.count}; without reservations {control.count}, of which "
        f"{control.passed_caps} bills beyond a cap"
    )
    for violation in (proof.violations + raced.violations)[:10]:
        yield f"  VIOLATION {violation}"
    for violation in [said for said in control.violations if said.startswith("billed")][:3]:
        yield f"  without reservations, {violation}"


def _percent(share: Money | None) -> str:
    return "-" if share is None else f"{share * 100:.2f} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the proof; 0 only if it holds, and fails without reservations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    if wanted.tasks < 1:
        parser.error("--tasks must be 1 or more")
    quiet()
    started = time.monotonic()
    with fast_directory() as directory:
        place = "a disk in memory" if directory.is_relative_to(MEMORY_DISK) else "a disk"
        sys.stdout.write(
            f"seed {wanted.seed}; stores: files on {place} ({directory}) with synchronous=FULL, and SQLite's "
            "memory\n"
        )
        proof, raced, control = prove(wanted.tasks, wanted.seed, directory)
    for line in table(proof, raced, control):
        sys.stdout.write(line + "\n")
    passed = proof.count == raced.count == 0 < control.passed_caps
    figures = {
        "tasks": proof.tasks + raced.tasks,
        "calls": proof.seen["calls"] + raced.seen["calls"],
        "violations": proof.count + raced.count,
        "bills_beyond_a_cap_without_reservations": control.passed_caps,
        "largest_overshoot_by_an_overbilled_call_usd": float(proof.overshoot),
        "seconds": round(time.monotonic() - started, 1),
        "seed": wanted.seed,
        "ok": passed,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
