"""`/health`: 200 where the service can work, 503 and the reasons where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.health import Signs, health_of, look
from domain.errors import StoreUnavailable
from store.database import Database
from store.depth import QueueDepth
from store.vitals import Vitals, read_vitals
from tests.app.stories import FixedClock


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "fixwright.sqlite3") as database:
        database.migrate()
        yield database


@pytest.fixture
def signs(database: Database, tmp_path: Path) -> Signs:
    return Signs(
        vitals=lambda: read_vitals(database),
        depth=QueueDepth(database),
        clock=FixedClock(),
        data_dir=tmp_path,
        takes_deliveries=lambda: True,
        worker_listens=lambda: True,
    )


def answer(signs: Signs) -> tuple[int, dict[str, object]]:
    application = FastAPI()
    application.include_router(health_of(signs))
    with TestClient(application) as client:
        told = client.get("/health")
        return told.status_code, told.json()


def test_a_new_service_is_well_and_nothing_has_happened(signs: Signs, database: Database) -> None:
    status, told = answer(signs)
    assert status == 200 and told["status"] == "ok" and told["problems"] == []
    assert told["schema"] == read_vitals(database).schema
    assert (told["queued"], told["running"], told["last_model"], told["last_forge"]) == (0, 0, None, None)


def test_without_a_worker_it_cannot_work_and_says_what_to_do(signs: Signs) -> None:
    status, told = answer(replace(signs, worker_listens=lambda: False))
    assert status == 503 and told["status"] == "failing"
    assert told["problems"] == ["no worker listens: start one with `fixwright work`, and read its log"]


def test_a_stopped_writer_and_a_database_that_cannot_be_read_are_problems_among_others(signs: Signs) -> None:
    def broken() -> Vitals:
        raise StoreUnavailable("database /srv/secret-place/fixwright.sqlite3: disk I/O error")

    found = look(replace(signs, takes_deliveries=lambda: False, vitals=broken))
    assert [problem.partition(":")[0] for problem in found.problems] == [
        "the delivery writer has stopped",
        "the database cannot be read",
    ]
    assert "secret-place" not in str(found), "anybody may ask"
    assert found.schema is None and found.worker_listens
