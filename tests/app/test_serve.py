"""The web process as a process: it starts only when it can work, stays small, and ends when asked."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.serve import webhook_dialects
from domain.errors import ConfigurationError
from tests.app.senders import SECRET, Sender, labelled
from tests.app.web_process import running_web_process

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_asked_and_never_loaded_the_model_stack(tmp_path: Path, number: int) -> None:
    with running_web_process(tmp_path) as web:
        assert Sender(web.port, SECRET).deliver(labelled()).status == 202
        assert web.stop(number) == 0, web.log_text()
        assert "Traceback" not in web.log_text()


@pytest.mark.long
def test_it_ends_while_senders_hold_connections_open(tmp_path: Path) -> None:
    with running_web_process(tmp_path) as web:
        idle = socket.create_connection(("127.0.0.1", web.port))
        unfinished = socket.create_connection(("127.0.0.1", web.port))
        unfinished.sendall(b"POST /webhooks/local HTTP/1.1\r\nContent-Type: application/json\r\n")
        sending = socket.create_connection(("127.0.0.1", web.port))
        sending.sendall(
            b"POST /webhooks/local HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        assert Sender(web.port, SECRET).get("/healthz").status == 200
        assert web.stop() == 0
        for connection in (idle, unfinished, sending):
            connection.close()


@pytest.mark.long
def test_it_stays_under_90_megabytes(tmp_path: Path) -> None:
    with running_web_process(tmp_path) as web:
        sender = Sender(web.port, SECRET)
        for _ in range(20):
            sender.deliver(labelled())
        assert web.resident_mb() < 90


def test_what_was_stored_is_there_after_a_kill(tmp_path: Path) -> None:
    payload = labelled()
    with running_web_process(tmp_path) as web:
        assert Sender(web.port, SECRET).deliver(payload, delivery="kept").status == 202
        web.stop(signal.SIGKILL)
    with running_web_process(tmp_path) as web:
        again = Sender(web.port, SECRET).deliver(payload, delivery="kept")
        assert again.json == {"decision": "duplicate", "task": 1}


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"FIXWRIGHT_WEBHOOK_SECRET": ""}, "FIXWRIGHT_WEBHOOK_SECRET: is set, but empty"),
        ({"FIXWRIGHT_WEBHOOK_SECRET": "   "}, "FIXWRIGHT_WEBHOOK_SECRET: is set, but empty"),
        ({"FIXWRIGHT_HOST": "203.0.113.1"}, "FIXWRIGHT_HOST, FIXWRIGHT_PORT: cannot listen on 203.0.113.1"),
        ({"FIXWRIGHT_DATA_DIR": "/dev/null/x"}, "FIXWRIGHT_DATA_DIR: /dev/null/x cannot be made"),
        ({"FIXWRIGHT_DATA_DIR": "/proc"}, "database /proc/fixwright.sqlite3: "),
    ],
)
def test_it_refuses_to_start_with_one_line_and_status_2(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    # The command line, with the one provider of this source tree.
    program = (
        "import sys, app.serve, app.cli; from tests.app.senders import DIALECT; "
        "app.serve.webhook_dialects = lambda: {'local': DIALECT}; sys.argv[1:] = ['serve']; app.cli.main()"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIXWRIGHT_")}
    settings = {
        "FIXWRIGHT_DATA_DIR": str(tmp_path),
        "FIXWRIGHT_PORT": "0",
        "FIXWRIGHT_WEBHOOK_SECRET": SECRET.decode(),
        **change,
    }
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**environment, **settings},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.removeprefix("fixwright: ").startswith(said)


def test_installed_providers_are_found_by_entry_point() -> None:
    try:
        dialects = webhook_dialects()
    except ConfigurationError as error:
        pytest.skip(f"the package is not installed: {error}")
    assert "local" in dialects
    assert all(dialect.name == name for name, dialect in dialects.items())
