"""Feels the pulse of a running service under attack: health answers, memory, what runs in the sandbox."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx

from tests.redteam.arena import Arena

SANDBOX_UID = 59_321
"""The setting's default: whom commands run as where the worker is root."""

BETWEEN_SECONDS = 0.05


class Pulse:
    """Watches from a thread of its own. Seconds and bytes; `slowest` is the longest health answer."""

    def __init__(self, ground: Arena) -> None:
        service = ground.stage.service
        self.slowest = 0.0
        self.answers = 0
        self.most_processes = 0
        self.most_memory = 0
        self._address = f"{service.address}/healthz"
        self._ours = [service.pid_of("work"), service.pid_of("serve")]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._over.wait(BETWEEN_SECONDS):
                began = time.monotonic()
                assert client.get(self._address).status_code == 200
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.answers += 1
                self.most_processes = max(self.most_processes, len(sandboxed()))
                self.most_memory = max(self.most_memory, *map(resident_bytes, self._ours))


def sandboxed() -> list[int]:
    """Return the live processes of the sandbox's user."""
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if _is_sandboxed(each)]


def _is_sandboxed(process: Path) -> bool:
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        return process.stat().st_uid == SANDBOX_UID and state not in "ZX"
    except OSError:
        return False


def resident_bytes(pid: int) -> int:
    """Return a process' resident memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
