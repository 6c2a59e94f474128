"""Measures the webhook door: durable deliveries per second, against the same commit behind bare ASGI."""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evals.door_load import FIRST_NUMBER
from evals.processes import (
    cpu_seconds,
    ended_at_last,
    free_port,
    python,
    resident_mb,
    service,
    wait_until_listening,
)
from store.database import Database
from store.history import History

CONNECTIONS = 32
LOADERS = 2
WARM_UP_SECONDS = 0.5

LEAST_SHARE = 0.8
"""Of the bare endpoint's rate. The bar."""


@dataclass(slots=True)
class Figures:
    """What was measured of one server: deliveries per second in each slice, and all latencies in seconds.

    `cpu_microseconds` is the processor time per delivery in each slice: it depends less than the rate on who
    else is busy on the machine.
    """

    rates: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    refused: int = 0
    cpu_microseconds: list[float] = field(default_factory=list)
    resident_mb: float = 0.0

    @property
    def rate(self) -> float:
        """The median slice's deliveries per second."""
        return statistics.median(self.rates)

    def milliseconds(self, percent: int) -> float:
        """Return a percentile of the latencies."""
        return round(statistics.quantiles(self.latencies, n=100)[percent - 1] * 1000, 2)

    def summary(self) -> dict[str, float]:
        """Return the figures for the report."""
        return {
            "per_second": round(self.rate),
            "p50_ms": self.milliseconds(50),
            "p99_ms": self.milliseconds(99),
            "cpu_us": round(statistics.median(self.cpu_microseconds)),
            "refused": self.refused,
            "resident_mb": round(self.resident_mb, 1),
        }


@dataclass(slots=True)
class Server:
    """A server under load, and how often it was."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    directory: Path
    slices: int = 0


def measure(slices: int, seconds: float) -> dict[str, Figures]:
    """Load the door and the bare endpoint in turns, in short slices, so that both see the same machine.

    The plain route is measured once, for contrast.
    """
    secret = secrets.token_hex(32)
    found = {name: Figures() for name in ("door", "raw", "route")}
    with _running("door", secret) as door, _running("raw", secret) as raw:
        for server in (door, raw):
            _load(server, secret, WARM_UP_SECONDS, FIRST_NUMBER)
        for number in range(slices):
            pair = (door, raw) if number % 2 else (raw, door)
            for server in pair:
                _measure_once(server, secret, seconds, found[server.name])
    with _running("route", secret) as route:
        _load(route, secret, WARM_UP_SECONDS, FIRST_NUMBER)
        _measure_once(route, secret, 2 * seconds, found["route"])
    return found


def _measure_once(server: Server, secret: str, seconds: float, figures: Figures) -> None:
    """Add a slice's figures, after checking that what was answered 202 is really there."""
    before, cpu_before = _stored(server), cpu_seconds(server.process.pid)
    rate, latencies, refused = _load(server, secret, seconds, FIRST_NUMBER + 1_000_000 * (1 + server.slices))
    server.slices += 1
    stored = _stored(server) - before
    if stored != len(latencies):
        raise SystemExit(f"{server.name}: {len(latencies)} deliveries were answered 202, {stored} are stored")
    used = cpu_seconds(server.process.pid) - cpu_before
    figures.cpu_microseconds.append(used / len(latencies) * 1e6)
    figures.rates.append(rate)
    figures.latencies += latencies
    figures.refused += refused
    figures.resident_mb = max(figures.resident_mb, resident_mb(server.process.pid))


def _load(server: Server, secret: str, seconds: float, first: int) -> tuple[float, list[float], int]:
    """Load a server from several processes; return deliveries per second, latencies and refusals."""
    share = CONNECTIONS // LOADERS
    loaders = []
    for index in range(LOADERS):
        numbers_from = first + index * 500_000
        arguments = [str(server.port), str(share), str(seconds), str(numbers_from)]
        loaders.append(python("evals.door_load", *arguments, say=secret))
    rate, latencies, refused = 0.0, [], 0
    for loader in loaders:
        answer, _ = loader.communicate(timeout=seconds + 30)
        if loader.returncode:
            raise SystemExit(f"{server.name}: the load process failed")
        tally = json.loads(answer)
        latencies += tally["latencies"]
        refused += tally["refused"]
        rate += len(tally["latencies"]) / tally["span"]
    return rate, latencies, refused


@contextmanager
def _running(name: str, secret: str) -> Iterator[Server]:
    """Start a server in a process of its own on a free port with a fresh database, and end it after."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="fixwright-bench-") as directory:
        if name == "door":
            process = _door(port, directory, secret)
        else:
            process = python("evals.door_yardsticks", name, str(port), directory, say=secret)
        with ended_at_last(process):
            wait_until_listening(process, port)
            yield Server(name, port, process, Path(directory))


def _door(port: int, directory: str, secret: str) -> subprocess.Popen[bytes]:
    settings = {
        "FIXWRIGHT_DATA_DIR": directory,
        "FIXWRIGHT_PORT": str(port),
        "FIXWRIGHT_WEBHOOK_SECRET": secret,
        "FIXWRIGHT_REPOSITORIES": "local:bench/sample",
        "FIXWRIGHT_LOG_FORMAT": "json",
    }
    return service("app.serve", settings, Path(directory, "web.log"))


def _stored(server: Server) -> int:
    """Return how many deliveries the server's database holds."""
    with Database(server.directory / "fixwright.sqlite3") as database:
        newest = History(database).deliveries(1)
    return newest[0].id if newest else 0


def _print_table(report: Mapping[str, Mapping[str, float]], share: float) -> None:
    rows = list(report["door"])
    sys.stdout.write(f"{'':14}" + "".join(f"{name:>14}" for name in report) + "\n")
    for row in rows:
        figures = "".join(f"{summary[row]:14}" for summary in report.values())
        sys.stdout.write(f"{row:14}{figures}\n")
    sys.stdout.write(f"share of the bare endpoint's rate: {share:.3f} (bar {LEAST_SHARE})\n")


def main() -> int:
    """Measure, print one line of JSON, and tell by the exit status whether the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=8, help="for each of the two that are compared")
    parser.add_argument("--seconds", type=float, default=1.5, help="of a slice")
    options = parser.parse_args()
    found = measure(options.slices, options.seconds)
    share = statistics.median(
        ours / bare for ours, bare in zip(found["door"].rates, found["raw"].rates, strict=True)
    )
    report = {name: figures.summary() for name, figures in found.items()}
    passed = share >= LEAST_SHARE and not found["door"].refused
    _print_table(report, share)
    outcome = {"bench": "door", "share_of_raw": round(share, 3), "bar": LEAST_SHARE, "passed": passed}
    sys.stdout.write(json.dumps({**outcome, "connections": CONNECTIONS, **report}) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
