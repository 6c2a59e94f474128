"""Shows that the suite bites: takes each defence away in turn, in a copy, and looks for what gets through.

Ends with one line of JSON; exits with 1 if all attacks stay contained without some defence, or if what is to
be taken away is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.redteam.defences import DEFENCES, Defence

ROOT = Path(__file__).resolve().parents[2]
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".tools", ".cache", "__pycache__", ".*_cache", "cases", "node_modules", "*.sqlite3"
)
_SECONDS = 240
_FAILED = re.compile(r"^FAILED \S*?::(.+?)(?: - .*)?$", re.MULTILINE)
_TESTS_FAILED = 1
"""Pytest's exit status when tests ran and failed; any other failure shows nothing about a defence."""


@dataclass(frozen=True)
class Bite:
    """What became of the attacks without a defence; `problem` is empty when one succeeded."""

    defence: str
    attack: str
    problem: str


def main() -> int:
    """Try every defence; return 1 if the suite does not miss one."""
    parser = argparse.ArgumentParser(prog="python -m tests.redteam.bites", description=main.__doc__)
    parser.add_argument("--only", default="", help="defences whose names contain this")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    wanted = [defence for defence in DEFENCES if chosen.only in defence.name]
    began = time.monotonic()
    say(f"{'without this defence':32}this attack succeeds")
    with ThreadPoolExecutor(chosen.workers) as pool:
        bites = []
        for bite in pool.map(_bite, wanted):
            say(f"{bite.defence:32}{bite.attack or 'NONE: ' + bite.problem}")
            bites.append(bite)
    missed = [bite.defence for bite in bites if bite.problem]
    figures = {
        "defences": len(bites),
        "bitten": len(bites) - len(missed),
        "missed": missed,
        "seconds": round(time.monotonic() - began),
        "ok": not missed and bool(bites),
    }
    say(json.dumps(figures))
    return 0 if figures["ok"] else 1


def say(line: str) -> None:
    """Print a line of the report."""
    print(line, flush=True)  # noqa: T201 - this is the program's output


def _bite(defence: Defence) -> Bite:
    with _copy() as tree:
        problem = _take_away(defence, tree)
        if problem:
            return Bite(defence.name, "", problem)
        done = _attacked(defence, tree)
    said = done.stdout + done.stderr
    if done.returncode != _TESTS_FAILED:
        last = said.strip().splitlines()[-1:] or ["nothing was said"]
        return Bite(defence.name, "", f"exit status {done.returncode}: {last[0]}")
    found = _FAILED.search(said)
    return Bite(defence.name, found[1] if found else "", "" if found else "no failed attack was named")


@contextmanager
def _copy() -> Iterator[Path]:
    """Yield a copy of the source that another user can reach, with the tool chain of the original."""
    with tempfile.TemporaryDirectory(prefix="redteam-bites-") as directory:
        Path(directory).chmod(0o755)
        tree = Path(directory) / "tree"
        shutil.copytree(ROOT, tree, ignore=_LEFT_OUT, symlinks=True)
        for name in (".tools", ".cache"):
            if (ROOT / name).exists():
                (tree / name).symlink_to(ROOT / name)
        cases = tree / "app" / "demo" / "cases"
        shutil.copytree(ROOT / "app" / "demo" / "cases", cases, symlinks=True)
        yield tree


def _take_away(defence: Defence, tree: Path) -> str:
    """Apply a defence's edits; return what is wrong with them, or ""."""
    for edit in defence.edits:
        path = tree / edit.path
        if not path.exists():
            return f"{edit.path} is not there any more"
        text = path.read_text()
        if text.count(edit.old) != edit.times:
            return f"{edit.path} has {text.count(edit.old)} times what it should have {edit.times} times"
        path.write_text(text.replace(edit.old, edit.new))
    return ""


def _attacked(defence: Defence, tree: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "TEST_KILL_ROUNDS": "60"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=no",
        *defence.attacks,
    ]
    try:
        return subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=_SECONDS, check=False,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"the attacks did not end within {_SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
