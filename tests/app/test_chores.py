"""The worker as it is put together: every chore runs on a real data directory, and does what it is for."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.clock import SystemClock
from app.setting_groups import WorkerSettings
from app.work import build_loop
from domain.model import Permission
from domain.policy import admit
from providers.local.people import LocalWorld
from store.database import Database
from store.inbox import SqliteInbox
from tests.store.makers import SERVING, delivery, labelled
from worker.loop import Loop


class House:
    """A worker's data directory beside an embedded forge."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.world = LocalWorld(root / "forge")
        self.repository = self.world.create_repository("acme/lamp", files={"README.md": b"# Lamp\n"})
        self.maintainer = self.world.create_user("mika")
        self.world.grant(self.repository.id, self.maintainer, Permission.WRITE)

    def loop(self, **settings: Any) -> Loop:
        return build_loop(
            WorkerSettings(
                data_dir=self.root / "data",
                local_forge=self.root / "forge",
                repositories=frozenset({"local:acme/lamp"}),
                model="openai/gpt-4o",
                sandbox_tools=(),
                **settings,
            )
        )


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def kept(loop: Loop) -> list[Any]:
    """Do all the housekeeping that is due at start, and return what was logged."""
    assert loop._housekeeping is not None
    with capture_logs() as logs:
        for _ in range(200):
            if loop._housekeeping() > 1:
                return logs
            for thread in [each for each in threading.enumerate() if each.name == "tidying"]:
                thread.join(20)
    raise AssertionError("the housekeeping comes to no end")


def test_at_start_the_house_is_put_in_order(house: House) -> None:
    issue = house.world.open_issue(house.repository.id, house.maintainer, title="Dark", labels=["docs"])
    loop = house.loop()
    shop = loop.shop
    shop.bench.workspaces.mirror_for(house.repository)
    with Database(house.root / "data" / "fixwright.sqlite3") as database:
        inbox = SqliteInbox(database, {})
        old = delivery(labelled(), "old")
        old = replace(old, received_at=SystemClock().now() - timedelta(days=31))
        inbox.accept([old], lambda event: admit(event, SERVING))

        logs = kept(loop)

        with database.read() as connection:
            bodies = connection.execute("SELECT content IS NULL FROM body_packs ORDER BY id").fetchall()
        assert [row[0] for row in bodies] == [1, 0], "the old body is gone, the sweep's own is there"
        assert database.wal_bytes() == 0
    assert [record for record in logs if record["log_level"] in {"warning", "error"}] == []
    assert [task.issue for task in shop.queue.tasks()] == [issue]
    (mirror,) = shop.bench.workspaces.mirrors()
    assert mirror.tidied_at is not None


def test_sweeps_can_be_turned_off(house: House) -> None:
    house.world.open_issue(house.repository.id, house.maintainer, title="Dark", labels=["docs"])
    loop = house.loop(sweep_minutes=0)
    kept(loop)
    assert loop.shop.queue.tasks() == []
