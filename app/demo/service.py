"""Runs the service for the demo as it is deployed: the Procfile under honcho, on its own data."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from domain.errors import FixwrightError

PROJECT = Path(__file__).resolve().parents[2]
START_SECONDS = 30
STOP_SECONDS = 12


class Service:
    """The two processes. `start` may be called again after they ended."""

    def __init__(self, data: Path, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self.data = data
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = data / "service.log"
        self._environment = {
            **environment,
            **settings,
            "PATH": f"{Path(sys.executable).parent}:{environment.get('PATH', '/usr/bin:/bin')}",
            "PYTHONUNBUFFERED": "1",
            "FIXWRIGHT_DATA_DIR": str(data / "service"),
            "FIXWRIGHT_PORT": str(self.port),
            "FIXWRIGHT_LOG_FORMAT": "json",
        }
        self._honcho: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Path:
        """Where the service keeps its one database file."""
        return self.data / "service" / "fixwright.sqlite3"

    def start(self) -> None:
        """Start both processes and wait until the door answers. Raises FixwrightError with the log's end."""
        command = [sys.executable, "-m", "honcho", "-f", str(PROJECT / "Procfile"), "-e", os.devnull, "start"]
        with self.log.open("ab") as log:
            self._honcho = subprocess.Popen(
                command,
                env=self._environment,
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._honcho.poll() is not None:
                break
            if self._answers() and self._worker_is_up():
                return
            time.sleep(0.05)
        raise FixwrightError(f"the service did not start:\n{self.last_lines()}")

    def stop(self) -> None:
        """Stop as a platform does: SIGTERM, then SIGKILL for what is left."""
        if self._honcho is None:
            return
        if self._honcho.poll() is None:
            self._honcho.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._honcho.wait(STOP_SECONDS)
        _kill_group(self._honcho.pid)
        self._honcho.wait()
        self._honcho = None

    def terminate(self) -> None:
        """Send SIGTERM to honcho and both processes, and do not wait. May be called again."""
        if self._honcho is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._honcho.pid, signal.SIGTERM)

    def is_running(self) -> bool:
        """Tell whether honcho, and with it both processes, is still there."""
        return self._honcho is not None and self._honcho.poll() is None

    def pid_of(self, command: str) -> int:
        """Return the process id of `serve` or `work` among our own processes. Raises FixwrightError."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            is_it = words[-2:-1] == [command.encode()] and words[0] != b"/bin/sh"
            if is_it and self._honcho is not None and self._honcho.pid in _ancestors(int(entry.name)):
                return int(entry.name)
        raise FixwrightError(f"no process runs `fixwright {command}`")

    def wait_ended(self, seconds: float) -> None:
        """Wait until honcho is gone: it ends the other process when one has died."""
        if self._honcho is not None:
            self._honcho.wait(seconds)

    def last_lines(self, count: int = 25) -> str:
        """Return the end of the service's log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
        except FileNotFoundError:
            return ""

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.address}/healthz", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False

    def _worker_is_up(self) -> bool:
        return (self.data / "service" / "worker.sock").exists()


def _ancestors(pid: int) -> set[int]:
    """Return a process' parents, and theirs, as far as they live."""
    found: set[int] = set()
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
        found.add(pid)
    return found


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
