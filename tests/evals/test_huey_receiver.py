"""The yardstick does what a receiver has to do, or beating it would mean nothing."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from evals.door_load import Deliveries
from tests.evals.test_load_plan import SECRET, parts

pytest.importorskip("huey", reason="only for the load's yardstick: pip install '.[bench]'")


@pytest.mark.long
def test_the_yardstick_keeps_what_it_accepts_and_refuses_forgeries(tmp_path: Path) -> None:
    from fastapi.testclient import TestClient

    from evals.huey_receiver import queue_in, receiver

    queue = queue_in(tmp_path)
    client = TestClient(receiver(queue, SECRET))
    made = Deliveries(SECRET)

    def post(**changes: bool) -> httpx.Response:
        headers, body = parts(made.request(5, "a", **changes))
        named = {name.decode(): value.decode() for name, value in headers if name != b"host"}
        return client.post("/webhooks/local", content=body, headers=named)

    assert post().status_code == 202
    assert post(well_signed=False).status_code == 401
    assert len(queue_in(tmp_path)) == 1
    (task,) = queue.pending()
    event, payload = task.args
    assert (event, payload["issue"]["number"]) == ("issues", 5)
    with queue.storage.db() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
