"""Prints the resident memory of the idle web process and the idle worker; fails above their bars."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evals.processes import resident_mb

BARS_MB = {"serve": 90, "work": 80}
START_SECONDS = 30.0
SETTLE_SECONDS = 1.5


def main() -> int:
    """Start both processes as deployed, let them settle, read VmRSS, and print one line of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        data.chmod(0o711)
        figures = {command: round(_idle_mb(command, data), 1) for command in BARS_MB}
    ok = all(figures[command] <= bar for command, bar in BARS_MB.items())
    for command, bar in BARS_MB.items():
        sys.stdout.write(
            f"fixwright {command:6} {figures[command]:6.1f} MiB resident when idle (bar {bar})\n"
        )
    sys.stdout.write(
        json.dumps({"web_mb": figures["serve"], "worker_mb": figures["work"], "bars_mb": BARS_MB, "ok": ok})
        + "\n"
    )
    return 0 if ok else 1


def _idle_mb(command: str, data: Path) -> float:
    process = subprocess.Popen(
        [str(Path(sys.executable).parent / "fixwright"), command],
        env=_environment(data),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        return _settled_mb(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def _settled_mb(process: subprocess.Popen[bytes]) -> float:
    """Return the resident size once it has stopped growing."""
    deadline, last, since = time.monotonic() + START_SECONDS, 0.0, time.monotonic()
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the process ended: {(process.stderr or sys.stderr).read()!r}")
        now = resident_mb(process.pid)
        if abs(now - last) > 0.2:
            last, since = now, time.monotonic()
        elif now > 20 and time.monotonic() - since > SETTLE_SECONDS:
            return now
        time.sleep(0.05)
    return last


def _environment(data: Path) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(data),
        "FIXWRIGHT_DATA_DIR": str(data / "service"),
        "FIXWRIGHT_PORT": "0",
        "FIXWRIGHT_WEBHOOK_SECRET": secrets.token_hex(32),
        "FIXWRIGHT_REPOSITORIES": "local:acme/shop",
        "FIXWRIGHT_LOCAL_FORGE": str(data / "forge"),
        "FIXWRIGHT_MODEL": "openai/gpt-4o",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": os.fsdecode(b"C.UTF-8"),
    }


if __name__ == "__main__":
    sys.exit(main())
