"""Figures for Prometheus: from the rows, readable by its own parser, and not for everybody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from app.metrics.page import MetricsReader
from app.metrics.route import metrics_routes
from domain.errors import StoreUnavailable
from domain.model import Money, Reason
from store.database import Database
from store.depth import QueueDepth
from store.figures import FigureReader
from tests.app.stories import Story

TOKEN = "a-token-of-the-tests"
MONITORING = Path(__file__).parents[3] / "docs/how-to/monitoring"

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "metrics.sqlite3") as database:
        yield database


@pytest.fixture
def story(database: Database) -> Story:
    return Story(database)


@pytest.fixture
def reader(database: Database, story: Story) -> MetricsReader:
    return MetricsReader(
        figures=FigureReader(database),
        depth=QueueDepth(database),
        clock=story.clock,
        cap_today=Money(20),
        worker_listens=lambda: True,
    )


def samples(reader: MetricsReader) -> Samples:
    families = text_string_to_metric_families(reader.page().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_an_empty_service_has_figures(reader: MetricsReader) -> None:
    found = samples(reader)
    assert found["fixwright_worker_up", ()] == 1
    assert found["fixwright_queue_oldest_seconds", ()] == 0
    assert found["fixwright_sandbox_failures_total", ()] == 0


def test_the_figures_are_those_of_the_rows(reader: MetricsReader, story: Story) -> None:
    story.ignored("ping")
    story.in_review("One")
    story.blocked("Two", Reason.SANDBOX)
    story.labelled("Three")
    found = samples(reader)
    queued = (("decision", "queued"), ("provider", "local"))
    assert found["fixwright_deliveries_total", queued] == 3
    assert found["fixwright_deliveries_total", (("decision", "uninteresting"), ("provider", "local"))] == 1
    assert found["fixwright_tasks", (("state", "in_review"),)] == 1
    assert found["fixwright_tasks_blocked", (("reason", "sandbox"),)] == 1
    assert found["fixwright_attempts_total", (("outcome", "verified"),)] == 1
    assert found["fixwright_verifications_total", (("outcome", "verified"),)] == 1
    assert found["fixwright_sandbox_failures_total", ()] == 1
    assert found["fixwright_phase_seconds_sum", (("phase", "agent"),)] == pytest.approx(71.3)
    assert found["fixwright_phase_seconds_count", (("phase", "prepare"),)] == 2
    assert found["fixwright_spend_dollars_total", (("model", "m"),)] == pytest.approx(0.0123)
    assert found["fixwright_tokens_total", (("kind", "input"), ("model", "m"))] == 1
    assert found["fixwright_spent_today_dollars", ()] == pytest.approx(0.0123)
    assert found["fixwright_queue_oldest_seconds", ()] > 0


def ask(page: bytes | None, near: bool, client: str = "127.0.0.1", **headers: str) -> int:
    def made() -> tuple[bytes, str]:
        if page is None:
            raise StoreUnavailable("locked")
        return page, "text/plain"

    application = FastAPI()
    application.include_router(metrics_routes(made, TOKEN, is_near_enough=near))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return TestClient(application, client=(client, 1)).get("/metrics", headers=named).status_code


def test_the_token_reads_it_and_nobody_else() -> None:
    assert ask(b"x", False, authorization=f"Bearer {TOKEN}") == 200
    assert ask(b"x", False) == 401
    assert ask(b"x", False, authorization=f"Bearer {TOKEN}x") == 401
    assert ask(b"x", False, authorization=f"Basic {TOKEN}") == 401
    assert ask(None, False, authorization=f"Bearer {TOKEN}") == 503


def test_this_machine_reads_it_where_that_is_set_and_no_proxy_asks_for_others() -> None:
    assert ask(b"x", True) == ask(b"x", True, client="::1") == 200
    assert ask(b"x", True, client="192.0.2.7") == ask(b"x", True, client="unix") == 401
    for header in ("x_forwarded_for", "forwarded", "via", "x_real_ip"):
        assert ask(b"x", True, **{header: "192.0.2.7"}) == 401


def test_without_a_token_set_nobody_has_it() -> None:
    application = FastAPI()
    application.include_router(metrics_routes(lambda: (b"x", "text/plain"), "", is_near_enough=False))
    answer = TestClient(application).get("/metrics", headers={"Authorization": "Bearer "})
    assert answer.status_code == 401


def test_dashboard_and_alerts_name_figures_that_there_are(reader: MetricsReader, story: Story) -> None:
    story.in_review("One")
    story.blocked("Two", Reason.SANDBOX)
    there = {name for name, _ in samples(reader)}
    dashboard = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    alerts = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    assert len(asked) > 12
    for expression in asked:
        names = re.findall(r"fixwright_[a-z_]+", expression)
        assert names, expression
        assert set(names) <= there, expression
