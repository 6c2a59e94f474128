"""Starts the real web process for tests, and reads what it stored and logged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from store.database import Database
from store.history import DeliveryRecord, History
from tests.app.senders import SECRET

UNSET = "(unset)"
"""The value of a setting that is not to be there at all."""

CONSOLE_TOKEN = "console-token-of-the-tests"

Record = dict[str, Any]

_ROOT = Path(__file__).parents[2]

# As `fixwright serve` does it, but with one provider instead of the installed ones.
_PROGRAM = """
import sys
from app.serve import serve
from app.settings import load_web_settings
from providers.github.plugin import GithubProvider
from tests.app.senders import DIALECT
serve(load_web_settings(), {"local": DIALECT, "github": GithubProvider().dialect()})
banned = {"litellm", "minisweagent", "harness", "worker", "evals", "httpx", "github", "requests", "jwt"}
sys.exit(f"loaded: {banned & set(sys.modules)}" if banned & set(sys.modules) else 0)
"""


class WebProcess:
    """A running web process and all that it has logged."""

    def __init__(self, process: subprocess.Popen[str], data_dir: Path) -> None:
        self.process = process
        self.data_dir = data_dir
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        self.port = int(self.logged(lambda record: record["event"] == "listening")["port"])

    def logged(self, wanted: Callable[[Record], bool], timeout: float = 60) -> Record:
        """Wait for a log line and return it."""
        with self._news:
            assert self._news.wait_for(lambda: any(map(wanted, self._records())), timeout), self._lines
            return next(filter(wanted, self._records()))

    def log_text(self) -> str:
        with self._news:
            return "".join(self._lines)

    def deliveries(self) -> list[DeliveryRecord]:
        with Database(self.data_dir / "fixwright.sqlite3") as database:
            return History(database).deliveries(10_000)

    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        status = self.process.wait(10)
        self._reader.join(10)
        return status

    def _records(self) -> Iterator[Record]:
        return (json.loads(line) for line in self._lines if line.startswith("{"))

    def _read_log(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()


@contextmanager
def running_web_process(data_dir: Path, **settings: str) -> Iterator[WebProcess]:
    """Run the web process on a free port until the block ends."""
    own = {
        "FIXWRIGHT_DATA_DIR": str(data_dir),
        "FIXWRIGHT_PORT": "0",
        "FIXWRIGHT_WEBHOOK_SECRET": SECRET.decode(),
        "FIXWRIGHT_REPOSITORIES": "local:acme/shop",
        "FIXWRIGHT_CONSOLE_TOKEN": CONSOLE_TOKEN,
        "FIXWRIGHT_LOG_FORMAT": "json",
        **settings,
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FIXWRIGHT_")}
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        cwd=_ROOT,
        env={**inherited, **{name: value for name, value in own.items() if value != UNSET}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield WebProcess(process, data_dir)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
