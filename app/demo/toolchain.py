"""The read-only tool chain that the sandbox shows to a case's tests: Python, pytest, requirements."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from app.demo.cases import Case
from app.demo.service import PROJECT
from domain.errors import ConfigurationError

BASE = PROJECT / ".tools"
"""Made by `make setup`."""

INSTALL_SECONDS = 300


def tools_for(case: Case) -> Path:
    """Return the directory to mount, made once for each set of requirements. Raises ConfigurationError."""
    if not (BASE / "bin").is_dir():
        raise ConfigurationError(f"{BASE} is not there; `make setup` makes it")
    if not case.requirements:
        return BASE
    key = hashlib.sha256("\n".join(sorted(case.requirements)).encode()).hexdigest()[:12]
    folder = PROJECT / ".cache" / f"tools-{key}"
    if not (folder / ".ready").exists():
        script = ["sh", str(PROJECT / ".ci" / "tools"), sys.executable, str(folder), *case.requirements]
        done = subprocess.run(script, cwd=PROJECT, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        if done.returncode != 0:
            raise ConfigurationError(f"the case's requirements cannot be installed: {done.stderr[-400:]}")
        (folder / ".ready").touch()
    return folder
