"""Runs a piece of Python as another user, or with other rights; only root can."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]


def in_other_shoes(script: str, *options: str, code: int = 0) -> str:
    """Return what a script prints behind `setpriv` with these options. Skips where we are not root."""
    if os.geteuid() != 0:
        pytest.skip("only root can put on other shoes")
    ended = subprocess.run(
        ["/usr/bin/setpriv", *options, "--", sys.executable, "-c", script],
        cwd=PROJECT, env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout
