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
    folder = _folder(case)
    if not is_ready(case):
        _install(case, folder)
        (folder / ".ready").touch()
    return folder


def is_ready(case: Case) -> bool:
    """Tell whether nothing has to be installed for a case."""
    return not case.requirements or (_folder(case) / ".ready").exists()


def _folder(case: Case) -> Path:
    key = hashlib.sha256("\n".join(sorted(case.requirements)).encode()).hexdigest()[:12]
    return PROJECT / ".cache" / f"tools-{key}"


def _install(case: Case, folder: Path) -> None:
    script = ["sh", str(PROJECT / ".ci" / "tools"), sys.executable, str(folder), *case.requirements]
    try:
        done = subprocess.run(script, cwd=PROJECT, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        said = [line for line in done.stderr.splitlines() if "ERROR" in line]
        why = "" if done.returncode == 0 else (said or [done.stderr.strip()[-300:]])[-1]
    except subprocess.TimeoutExpired:
        why = f"not finished within {INSTALL_SECONDS} s"
    if why:
        wanted = ", ".join(case.requirements)
        raise ConfigurationError(f"what the case's tests need ({wanted}) cannot be installed: {why[:400]}")
