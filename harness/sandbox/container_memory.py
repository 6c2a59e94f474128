"""Learns from the kernel whether a container's memory limit has killed anything, before the count is gone."""

from __future__ import annotations

import os
import select
import threading
from pathlib import Path

_JOIN_SECONDS = 2.0


class MemoryWitness:
    """Reads a container's count of out-of-memory kills at the very moment its first process ends.

    The engines themselves do not report it on every kernel, and the control group goes with the container.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._kills = 0
        self._thread: threading.Thread | None = None
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:  # it has ended already
            return
        file = counter_file(Path(f"/proc/{pid}/cgroup"), Path("/proc/self/mounts"))
        self._thread = threading.Thread(target=self._wait, args=(descriptor, file), daemon=True)
        self._thread.start()

    def saw_a_kill(self) -> bool:
        """Tell whether something was killed. The container's first process must have ended."""
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        return self._kills > 0

    def _wait(self, descriptor: int, file: Path | None) -> None:
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        poller.poll()
        os.close(descriptor)
        if file is not None:
            self._kills = _count(file)


def counter_file(membership: Path, mounts: Path) -> Path | None:
    """Return the file that counts the kills in a process' control group, of version 1 or 2."""
    try:
        entries = [line.split(":", 2) for line in membership.read_text().splitlines()]
        mounted = [line.split(" ")[1:4] for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in entries:
        for point, kind, options in mounted:
            if kind == "cgroup" and "memory" in controllers.split(",") and "memory" in options.split(","):
                return _existing(Path(point) / path.lstrip("/") / "memory.oom_control")
    for _, controllers, path in entries:
        for point, kind, _ in mounted:
            if kind == "cgroup2" and not controllers:
                return _existing(Path(point) / path.lstrip("/") / "memory.events")
    return None


def _existing(file: Path) -> Path | None:
    return file if file.is_file() else None


def _count(file: Path) -> int:
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return 0
    return next((int(words[1]) for words in lines if words[0] == "oom_kill"), 0)
