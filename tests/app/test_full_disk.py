"""The web process on a disk that is really full: 503 and come back, alive, nothing half stored, then well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from store.database import Database
from tests.app.senders import SECRET, Sender, labelled
from tests.app.web_process import running_web_process
from tests.small_disk import small_disk

FULL = {"status": "the disk is full"}


@pytest.mark.long
def test_a_full_disk_under_the_real_door(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 6) as disk, running_web_process(disk.path / "data") as web:
        sender = Sender(web.port, SECRET)

        def deliver(name: str, payload: object) -> tuple[int, str | None]:
            answer = sender.deliver(payload, delivery=name)
            return answer.status, answer.headers["retry-after"]

        assert deliver("before", labelled())[0] == 202
        disk.fill()
        refused = {}
        for number in range(200):  # the write-ahead log has some pages left
            payload = labelled(100 + number, issue={"body": os.urandom(20_000).hex()})
            status, later = deliver(f"full-{number}", payload)
            if status == 503:
                assert later is not None and later.isdigit()
                refused[f"full-{number}"] = payload
            else:
                assert status == 202
            if len(refused) == 3:
                break
        assert len(refused) == 3 and web.process.poll() is None
        stored = {record.delivery_id for record in web.deliveries()}
        assert not stored & set(refused)

        assert (sender.get("/healthz").status, sender.get("/healthz").json) == (503, FULL)

        disk.make_room()
        assert sender.get("/healthz").status == 200
        for name, payload in refused.items():
            assert deliver(name, payload)[0] == 202
        assert {record.delivery_id for record in web.deliveries()} == stored | set(refused)
        with Database(disk.path / "data" / "fixwright.sqlite3") as database, database.read() as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            tasks = connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
        assert tasks == len(stored) + len(refused)
