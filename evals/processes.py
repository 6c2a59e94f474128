"""Processes under measurement: started, waited for, weighed, ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 30.0
STOP_SECONDS = 10.0


def python(module: str, *arguments: str, say: str) -> subprocess.Popen[bytes]:
    """Start one of our modules and say something to it on its standard input, as a first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None, "asked for above"
    process.stdin.write(say.encode("ascii") + b"\n")
    process.stdin.flush()
    return process


def service(module: str, settings: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process of the service; its log goes where a supervisor's would: through a file."""
    command = ["env", *(f"{name}={value}" for name, value in settings.items()), sys.executable, "-m", module]
    with log.open("ab") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


@contextmanager
def ended_at_last(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a process with the block: SIGTERM, and SIGKILL for one that does not listen."""
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Return when somebody listens on the port. Raises SystemExit when the process ends or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode} before it listened")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the server did not come up")


def free_port() -> int:
    """Return a loopback port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def cpu_seconds(pid: int) -> float:
    """Return what a process has used of the processors, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """Return a process' resident memory in MiB; 0 once it is gone or a zombie."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
