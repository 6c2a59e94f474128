"""Measures the web process with idle listeners on its streams: memory, delay of news, time to end."""

from __future__ import annotations

import argparse
import hashlib
import json
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.clock import SystemClock
from domain.events import IssueLabelled
from domain.model import Actor, Attempt, Category, IssueRef, Money, Phase
from domain.ports import Admission, Delivery
from evals.processes import cpu_seconds, ended_at_last, free_port, resident_mb, service, wait_until_listening
from store.database import Database
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue

MEMORY_BAR_MB = 110.0
END_BAR_SECONDS = 4.0
NEWS_BAR_SECONDS = 2.0
IDLE_SECONDS = 5.0
ROUNDS = 10
PATIENCE_SECONDS = 20.0
"""How long anything may take before the measurement is given up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table and one line of JSON, and return 0 if every bar is met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=50)
    clients = parser.parse_args(arguments).clients
    with tempfile.TemporaryDirectory() as folder:
        figures = _measure(Path(folder), clients)
    bars = {
        "web_mb": MEMORY_BAR_MB,
        "news_slowest_seconds": NEWS_BAR_SECONDS,
        "end_seconds": END_BAR_SECONDS,
    }
    ok = all(figures[name] <= bar for name, bar in bars.items()) and figures["exit_status"] == 0
    for name, figure in figures.items():
        bar = f"  (bar {bars[name]:g})" if name in bars else ""
        sys.stdout.write(f"{name.replace('_', ' '):24} {figure:9.3f}{bar}\n")
    sys.stdout.write(json.dumps({"clients": clients, **figures, "ok": ok}) + "\n")
    return 0 if ok else 1


def _measure(folder: Path, clients: int) -> dict[str, float]:
    data, token, port = folder / "service", secrets.token_hex(16), free_port()
    data.mkdir(mode=0o711)
    with Database(data / "fixwright.sqlite3") as database:
        database.migrate()
        queue = SqliteTaskQueue(database, SystemClock())
        attempt = _running_attempt(database, queue)
        settings = _settings(data, token, port)
        with ended_at_last(service("app.serve", settings, folder / "web.log")) as web:
            wait_until_listening(web, port)
            before = _settled_mb(web.pid)
            listeners = [_Listener(port, token, attempt.task_id) for _ in range(clients)]
            used = cpu_seconds(web.pid)
            time.sleep(IDLE_SECONDS)
            idle = (cpu_seconds(web.pid) - used) / IDLE_SECONDS
            delays = [_news(queue, attempt, listeners, number) for number in range(ROUNDS)]
            resident = resident_mb(web.pid)
            end, status = _end(web)
    return {
        "idle_web_mb": round(before, 1),
        "web_mb": round(resident, 1),
        "idle_cpu_share": round(idle, 4),
        "news_median_seconds": round(statistics.median(delays), 3),
        "news_slowest_seconds": round(max(delays), 3),
        "end_seconds": round(end, 3),
        "exit_status": status,
    }


class _Listener:
    """One connection that listens to a task; it reads when it is asked to."""

    def __init__(self, port: int, token: str, task_id: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        request = (
            f"GET /api/v1/runs/{task_id}/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        self._socket.sendall(request.encode("ascii"))
        self._file = self._socket.makefile("rb")
        self.wait_for(b'"trigger": "claimed"')

    def wait_for(self, wanted: bytes) -> None:
        """Read until a line has this in it."""
        for line in self._file:
            if wanted in line:
                return
        raise SystemExit("a stream ended before its news came")


def _news(queue: SqliteTaskQueue, attempt: Attempt, listeners: Sequence[_Listener], number: int) -> float:
    """Write a phase, and return the seconds until the last listener has heard of it."""
    name, began = f"phase-{number}", time.monotonic()
    clock = SystemClock()
    queue.add_phase(
        attempt, Phase(name=name, started_at=clock.now(), seconds=0.0, cost=Money(0), note="measured")
    )
    for listener in listeners:
        listener.wait_for(name.encode("ascii"))
    return time.monotonic() - began


def _end(web: subprocess.Popen[bytes]) -> tuple[float, int]:
    """Return the seconds from a SIGTERM to the process' end, and its status."""
    began = time.monotonic()
    web.send_signal(signal.SIGTERM)
    status = web.wait(PATIENCE_SECONDS)
    return time.monotonic() - began, status


def _settled_mb(pid: int) -> float:
    """Return the resident size once it has stopped growing."""
    last, deadline = 0.0, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now = resident_mb(pid)
        if abs(now - last) < 0.2:
            return now
        last = now
    return last


def _running_attempt(database: Database, queue: SqliteTaskQueue) -> Attempt:
    """Make a task that is being worked on."""
    event = IssueLabelled(
        issue=IssueRef(forge="local", repository_id="1", number=1),
        repository_name="acme/shop",
        actor=Actor(id="9", login="mia"),
        label="bug",
        title="The total is wrong",
        body="It is 1 cent too high.",
    )
    delivery = Delivery(
        provider="local",
        delivery_id="measured",
        body_sha256=hashlib.sha256(b"measured").hexdigest(),
        body=b"{}",
        received_at=SystemClock().now(),
        event=event,
    )
    SqliteInbox(database, {"bug": Category.BUG}).accept([delivery], lambda _: Admission.QUEUED)
    task = queue.claim("measured/1", 3600)
    if task is None:
        raise SystemExit("the task cannot be claimed")
    return queue.begin_attempt(task)


def _settings(data: Path, token: str, port: int) -> dict[str, str]:
    return {
        "FIXWRIGHT_DATA_DIR": str(data),
        "FIXWRIGHT_PORT": str(port),
        "FIXWRIGHT_WEBHOOK_SECRET": secrets.token_hex(32),
        "FIXWRIGHT_CONSOLE_TOKEN": token,
        "FIXWRIGHT_REPOSITORIES": "local:acme/shop",
    }


if __name__ == "__main__":
    sys.exit(main())
