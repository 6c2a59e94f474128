"""The read-only tool chain that the sandbox shows to a case's tests: Python, pytest, requirements."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.demo.cases import Case
from app.demo.service import PROJECT
from domain.errors import ConfigurationError

BASE = PROJECT / ".tools"
"""Made by `make setup`."""

INSTALL_SECONDS = 300


def tools_for(case: Case) -> Path:
    """Return the directory to mount, made once for each set of requirements. Raises ConfigurationError."""
    return tools_with(case.requirements)


def tools_with(requirements: Sequence[str]) -> Path:
    """Return a tool chain with these requirements besides pytest, made once. Raises ConfigurationError."""
    if not (BASE / "bin").is_dir():
        raise ConfigurationError(f"{BASE} is not there; `make setup` makes it")
    if not requirements:
        return BASE
    folder = _folder(requirements)
    if not (folder / ".ready").exists():
        _install(requirements, folder)
        (folder / ".ready").touch()
    return folder


def is_ready(case: Case) -> bool:
    """Tell whether nothing has to be installed for a case."""
    return not case.requirements or (_folder(case.requirements) / ".ready").exists()


def _folder(requirements: Sequence[str]) -> Path:
    key = hashlib.sha256("\n".join(sorted(requirements)).encode()).hexdigest()[:12]
    return PROJECT / ".cache" / f"tools-{key}"


def _install(requirements: Sequence[str], folder: Path) -> None:
    script = ["sh", str(PROJECT / ".ci" / "tools"), sys.executable, str(folder), *requirements]
    try:
        done = subprocess.run(script, cwd=PROJECT, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        said = [line for line in done.stderr.splitlines() if "ERROR" in line]
        why = "" if done.returncode == 0 else (said or [done.stderr.strip()[-300:]])[-1]
    except subprocess.TimeoutExpired:
        why = f"not finished within {INSTALL_SECONDS} s"
    if why:
        wanted = ", ".join(requirements)
        raise ConfigurationError(f"what the case's tests need ({wanted}) cannot be installed: {why[:400]}")
