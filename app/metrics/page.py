"""Writes the figures of the service as Prometheus reads them. Nothing is counted in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version as installed_version

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from domain.budget import utc_day
from domain.model import Money
from domain.ports import Clock
from domain.text import one_line
from store.depth import QueueDepth
from store.figures import FigureReader, Figures

CONTENT_TYPE = CONTENT_TYPE_LATEST

_COUNTERS = {
    "deliveries": ("Deliveries by forge and by what was decided at the door.", ("provider", "decision")),
    "blocked": ("How often tasks were blocked, by reason.", ("reason",)),
    "attempts": ("Attempts that have ended, by outcome.", ("outcome",)),
    "verifications": ("Changes that were verified or not, by the attempt's outcome.", ("outcome",)),
    "pulls": ("What became of pull requests.", ("outcome",)),
}
_NAMES = {"pulls": "fixwright_pull_outcomes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReader:
    """Reads the figures, and writes the page."""

    figures: FigureReader
    depth: QueueDepth
    clock: Clock
    cap_today: Money
    worker_listens: Callable[[], bool]

    def page(self) -> bytes:
        """Return the page. Raises StoreUnavailable."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected([*self._metrics()]))
        return generate_latest(registry)

    def _metrics(self) -> Iterator[Metric]:
        now = self.clock.now()
        figures, depth = self.figures.read(utc_day(now)), self.depth.read(now)
        yield InfoMetricFamily(
            "fixwright", "The service's version.", {"version": installed_version("fixwright")}
        )
        yield from _counters(figures)
        yield from _money(figures)
        yield _gauge("tasks", "Tasks by state.", "state", figures.counts["tasks"])
        yield _gauge("tasks_blocked", "Blocked tasks by reason.", "reason", figures.counts["blocked_now"])
        yield _value("queue_oldest_seconds", "How long the oldest due task waits.", depth.oldest_due_seconds)
        yield _value("undecided", "Signals and errands that wait for the worker.", figures.undecided)
        yield _value("spent_today_dollars", "Dollars of this UTC day.", figures.spent_today)
        yield _value("cap_today_dollars", "Dollars that a day may cost.", float(self.cap_today))
        yield _value("worker_up", "1 where a worker listens.", float(self.worker_listens()))
        yield _value("wal_bytes", "Size of the database's write-ahead log.", figures.wal_bytes)


class _Collected(Collector):
    """Hands over what was read already."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        """Return the metrics."""
        return self._metrics


def _counters(figures: Figures) -> Iterator[Metric]:
    for name, (words, labels) in _COUNTERS.items():
        family = CounterMetricFamily(_NAMES.get(name, f"fixwright_{name}"), words, labels=labels)
        for values, count in sorted(figures.counts[name].items()):
            family.add_metric([_label(value) for value in values], count)
        yield family
    failures = figures.counts["blocked"].get(("sandbox",), 0)
    yield CounterMetricFamily("fixwright_sandbox_failures", "Tasks stopped: no sandbox held.", failures)
    phases = SummaryMetricFamily("fixwright_phase_seconds", "Seconds of phases.", labels=["phase"])
    for name, phase in sorted(figures.phases.items()):
        phases.add_metric([_label(name)], count_value=phase.count, sum_value=phase.seconds)
    yield phases


def _money(figures: Figures) -> Iterator[Metric]:
    spent = CounterMetricFamily("fixwright_spend_dollars", "Dollars, reserved included.", labels=["model"])
    calls = CounterMetricFamily("fixwright_model_calls", "Calls of models.", labels=["model"])
    tokens = CounterMetricFamily("fixwright_tokens", "Tokens as counted.", labels=["model", "kind"])
    for name, model in sorted(figures.models.items()):
        spent.add_metric([_label(name)], model.dollars)
        calls.add_metric([_label(name)], model.calls)
        for kind, count in model.tokens.items():
            tokens.add_metric([_label(name), kind], count)
    yield from (spent, calls, tokens)


def _gauge(name: str, words: str, label: str, counts: Mapping[tuple[str, ...], int]) -> Metric:
    family = GaugeMetricFamily(f"fixwright_{name}", words, labels=[label])
    for (value,), count in sorted(counts.items()):
        family.add_metric([_label(value)], count)
    return family


def _value(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"fixwright_{name}", words, value=value)


def _label(value: str) -> str:
    return one_line(value, 100)
