"""Runs a package client of this machine, as its operator would, to hear how it is configured."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

import structlog

_log = structlog.get_logger(__name__)
_SECONDS = 30
_MOST = 2**20


def ask(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return what a client prints, or "" where there is none, or it fails. It gets only this environment."""
    program = shutil.which(command[0], path=environment.get("PATH", "/usr/local/bin:/usr/bin:/bin"))
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=dict(environment), cwd="/", check=False, timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("package client could not be asked", client=command[0], error=str(error)[:200])
        return ""
    return done.stdout[:_MOST].decode("utf-8", "replace") if done.returncode == 0 else ""
