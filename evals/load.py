"""The service under load: both real processes, every row counted after, and huey as the yardstick."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from evals.door_load import TAKEN, Deliveries
from evals.huey_receiver import queue_in
from evals.load_audit import violations
from evals.load_plan import Sending, planned
from evals.load_sender import Sent, Target, send
from evals.load_service import LoadedService
from evals.processes import cpu_seconds, ended_at_last, free_port, python, resident_mb, wait_until_listening

SLICES = 10
SEED = 2026
SINGLES = 40

TIMES_HUEY_GOAL, TIMES_HUEY_BAR = 4.0, 1.0
"""Of the rates, as the median over the slices. The goal is for a machine that has processors to spare for the
load. On a busy one, a receiver with forty threads is given more of the processors than one with two."""

CPU_BAR = 2.0
"""How many times our processor time per request fits into huey's: a ratio that neighbours hardly change."""

P99_GOAL_MS = 25.0
"""On a quiet machine; reported, and no bar: the load comes from the same processors."""

START_GOAL_MS, START_BAR_MS = 10.0, 50.0
"""From the delivery to the claim, median; above the bar, somebody polls. The goal is for a quiet machine."""


@dataclass(slots=True)
class Figures:
    """What one receiver did: all that was sent and answered, seconds of each slice, MiB before and after."""

    sent: list[Sent] = field(default_factory=list)
    spans: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0
    resident_before: float = 0.0
    resident_after: float = 0.0

    def load(self, pid: int, target: Target, part: list[Sending]) -> None:
        """Send a slice to the receiver with this process id, and add what came of it.

        The rate counts what was accepted as durable.
        """
        before = cpu_seconds(pid)
        sent, span = send(target, part)
        self.cpu_seconds += cpu_seconds(pid) - before
        self.sent += sent
        self.spans.append(span)
        self.rates.append(sum(each.status == TAKEN for each in sent) / span)

    @property
    def per_second(self) -> float:
        """Accepted deliveries per second over all slices."""
        return sum(each.status == TAKEN for each in self.sent) / sum(self.spans)

    @property
    def cpu_us(self) -> float:
        """Microseconds of the receiver's processor time for a request; they depend less on neighbours."""
        return self.cpu_seconds / len(self.sent) * 1e6

    def milliseconds(self, percent: int) -> float:
        """Return a percentile of the latencies."""
        taken = [each.seconds for each in self.sent]
        return round(statistics.quantiles(taken, n=100)[percent - 1] * 1000, 2)


@dataclass(slots=True)
class Outcome:
    """Everything that the run found out."""

    ours: Figures
    huey: Figures
    starts_ms: list[float]
    worker_before: float
    worker_after: float
    wrong: list[str]

    @property
    def times_huey(self) -> float:
        """The median over the slices of our rate by huey's."""
        return statistics.median(a / b for a, b in zip(self.ours.rates, self.huey.rates, strict=True))

    @property
    def times_cpu(self) -> float:
        """How many times our processor time per request fits into huey's."""
        return self.huey.cpu_us / self.ours.cpu_us

    @property
    def start_ms(self) -> float:
        """The median from a single delivery to the claim of its task."""
        return statistics.median(self.starts_ms)

    @property
    def missed(self) -> list[str]:
        """The bars that were missed."""
        bars = {
            "nothing lost, nothing twice": not self.wrong,
            "not slower than huey": self.times_huey >= TIMES_HUEY_BAR,
            f"{CPU_BAR:.0f} times less processor time than huey": self.times_cpu >= CPU_BAR,
            f"claimed within {START_BAR_MS:.0f} ms": self.start_ms <= START_BAR_MS,
        }
        return [name for name, is_met in bars.items() if not is_met]

    @property
    def goals_met(self) -> dict[str, bool]:
        """Which of the goals for a quiet machine were reached."""
        return {
            "times_huey": self.times_huey >= TIMES_HUEY_GOAL,
            "p99_ms": self.ours.milliseconds(99) < P99_GOAL_MS,
            "start_ms": self.start_ms < START_GOAL_MS,
        }


def measure(total: int, connections: int) -> Outcome:
    """Load the service and the yardstick in turns, then kill the service and count."""
    with tempfile.TemporaryDirectory(prefix="fixwright-load-") as directory, ExitStack() as stack:
        room = Path(directory)
        room.chmod(0o711)
        service = stack.enter_context(LoadedService(room))
        huey = stack.enter_context(_huey(room, service.secret))
        target = Target(
            port=service.port, secret=service.secret, origin=service.origin, connections=connections
        )
        singles = [service.deliver_alone(place) for place in range(SINGLES)]
        ours, theirs = Figures(), Figures()
        ours.resident_before, theirs.resident_before = service.web_mb, resident_mb(huey.pid)
        worker_before = service.worker_mb
        plan = planned(total, SEED, open_issues=service.open_issues)
        for index in range(SLICES):
            part = plan[index::SLICES]
            ours.load(service.web_pid, target, part)
            service.wait_until_idle()
            theirs.load(huey.pid, replace(target, port=huey.port), part)
        ours.resident_after, theirs.resident_after = service.web_mb, resident_mb(huey.pid)
        worker_after = service.worker_mb
        service.kill()
        alone = [sent for sent, _ in singles]
        wrong = _wrong(service, [*alone, *ours.sent]) + _lost_by_huey(room, theirs)
    starts = [seconds * 1000 for _, seconds in singles]
    return Outcome(ours, theirs, starts, worker_before, worker_after, wrong)


@dataclass(frozen=True, slots=True)
class _Yardstick:
    port: int
    pid: int


@contextmanager
def _huey(room: Path, secret: str) -> Iterator[_Yardstick]:
    """Start the yardstick in a process of its own, with no consumer beside it."""
    port = free_port()
    with ended_at_last(python("evals.huey_receiver", str(port), str(room), say=secret)) as process:
        wait_until_listening(process, port)
        yield _Yardstick(port, process.pid)


def _wrong(service: LoadedService, sent: list[Sent]) -> list[str]:
    secret = service.secret.encode("ascii")
    makers: dict[str, Deliveries] = {}

    def body_of(label: str, number: int) -> bytes:
        if label not in makers:
            makers[label] = Deliveries(secret, replace(service.origin, label=label))
        return makers[label].body(number)

    return violations(service.database, sent, body_of, service.queue_on)


def _lost_by_huey(room: Path, figures: Figures) -> list[str]:
    """Hold the yardstick to its answers as well: a rate without the rows would be no rate."""
    taken = sum(each.status == TAKEN for each in figures.sent)
    kept = len(queue_in(room))
    return [] if taken == kept else [f"huey: accepted {taken}, holds {kept}"]


def _table(outcome: Outcome) -> Iterator[str]:
    ours, huey = outcome.ours, outcome.huey
    yield f"{'':34}{'fixwright':>12}{'FastAPI + huey':>16}"
    yield f"{'accepted deliveries/s, durable':34}{ours.per_second:12.0f}{huey.per_second:16.0f}"
    for percent in (50, 99):
        row = ours.milliseconds(percent), huey.milliseconds(percent)
        yield f"{f'p{percent}, ms':34}{row[0]:12.1f}{row[1]:16.1f}"
    yield f"{'processor time per request, µs':34}{ours.cpu_us:12.0f}{huey.cpu_us:16.0f}"
    for when in ("before", "after"):
        row = getattr(ours, f"resident_{when}"), getattr(huey, f"resident_{when}")
        yield f"{f'web process, MiB resident, {when}':34}{row[0]:12.1f}{row[1]:16.1f}"
    yield f"{'worker, MiB resident, before':34}{outcome.worker_before:12.1f}"
    yield f"{'worker, MiB resident, after':34}{outcome.worker_after:12.1f}"
    yield f"{'delivery to claim, ms, median':34}{outcome.start_ms:12.1f}"
    yield f"{'times the yardstick, rate':34}{outcome.times_huey:12.2f}"
    yield f"{'times the yardstick, processor':34}{outcome.times_cpu:12.2f}"
    yield f"{'lost, doubled or wrong':34}{len(outcome.wrong):12d}"
    yield from (f"  {line}" for line in outcome.wrong[:20])
    yield from (f"goal not reached: {name}" for name, is_met in outcome.goals_met.items() if not is_met)
    yield from (f"bar missed: {name}" for name in outcome.missed)


def _report(outcome: Outcome, total: int, connections: int) -> dict[str, object]:
    ours, huey = outcome.ours, outcome.huey
    return {
        "bench": "load",
        "deliveries": total,
        "connections": connections,
        "violations": len(outcome.wrong),
        "per_second": round(ours.per_second),
        "p50_ms": ours.milliseconds(50),
        "p99_ms": ours.milliseconds(99),
        "cpu_us": round(ours.cpu_us),
        "huey_cpu_us": round(huey.cpu_us),
        "huey_per_second": round(huey.per_second),
        "huey_p99_ms": huey.milliseconds(99),
        "times_huey": round(outcome.times_huey, 2),
        "times_huey_cpu": round(outcome.times_cpu, 2),
        "start_ms": round(outcome.start_ms, 2),
        "web_mb": [round(ours.resident_before, 1), round(ours.resident_after, 1)],
        "worker_mb": [round(outcome.worker_before, 1), round(outcome.worker_after, 1)],
        "goals_met": outcome.goals_met,
        "missed": outcome.missed,
        "passed": not outcome.missed,
    }


def main() -> int:
    """Measure, print a table and one line of JSON; the exit status tells whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=32)
    options = parser.parse_args()
    outcome = measure(options.deliveries, options.connections)
    for line in _table(outcome):
        sys.stdout.write(line + "\n")
    sys.stdout.write(json.dumps(_report(outcome, options.deliveries, options.connections)) + "\n")
    return 1 if outcome.missed else 0


if __name__ == "__main__":
    sys.exit(main())
