"""Measures what safety costs: a sandboxed command, the self-test, a prepared worktree, a publication."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from domain.ports import SandboxPolicy
from evals import bench_workspace
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.disk import remove_tree

_ROUNDS = 50
_SELF_TESTS = 5
_UID = 64_123
_BARS = {"times_plain": 60.0, "self_test_times_plain": 300.0, "prepare_s": 6.0, "publish_s": 3.0}
"""Wide, since a busy machine stretches short steps; the first two in multiples of a plain subprocess."""

_GOALS = {"over_plain_ms": 8.0, "self_test_ms": 100.0, "prepare_s": 1.5, "publish_s": 0.5}
"""What a quiet machine should show."""


def main() -> int:
    """Print the figures, the last line as JSON; return 1 when a bar is missed."""
    uid = _UID if os.geteuid() == 0 else None
    room = Path(tempfile.mkdtemp(prefix="fixwright-bench-"))
    room.chmod(0o711)
    try:
        figures = {
            **_measure(BubblewrapSandbox(uid=uid, nice=False), room, uid),
            **bench_workspace.measure(room, uid),
        }
    finally:
        remove_tree(room)
    missed = [name for name, bar in _BARS.items() if float(figures[name]) > bar]
    above = [name for name, goal in _GOALS.items() if float(figures[name]) > goal]
    for name, figure in figures.items():
        goal = f"   goal {_GOALS[name]:g}" if name in _GOALS else ""
        print(f"{name:24} {figure}{goal}")  # noqa: T201 - this is the program's output
    print(json.dumps({**figures, "rounds": _ROUNDS, "above_goal": above, "missed": missed}))  # noqa: T201
    return 1 if missed else 0


def _measure(sandbox: BubblewrapSandbox, room: Path, uid: int | None) -> dict[str, float | str]:
    work = room / "work"
    work.mkdir()
    if uid is not None:
        os.chown(work, uid, uid)
    self_test = _median_ms(sandbox.self_test, _SELF_TESTS)
    with closing(sandbox.open(SandboxPolicy(writable=work, scratch=room / "scratch"))) as session:
        # Turn by turn, so that a busy moment of the machine weighs on both.
        plain, sandboxed = [], []
        for _ in range(_ROUNDS):
            plain.append(_milliseconds(_plain))
            sandboxed.append(_milliseconds(lambda: session.run("true", 30)))
    figures = (statistics.median(plain), statistics.median(sandboxed))
    return {
        "plain_ms_per_command": round(figures[0], 2),
        "sandbox_ms_per_command": round(figures[1], 2),
        "over_plain_ms": round(figures[1] - figures[0], 2),
        "times_plain": round(figures[1] / figures[0], 1),
        "self_test_ms": round(self_test, 1),
        "self_test_times_plain": round(self_test / figures[0], 1),
        "isolation": sandbox.isolation,
    }


def _plain() -> None:
    subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )


def _median_ms(action: Callable[[], object], rounds: int) -> float:
    return statistics.median(_milliseconds(action) for _ in range(rounds))


def _milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    sys.exit(main())
