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
from contextlib import ExitStack, closing
from pathlib import Path

from domain.ports import SandboxPolicy
from evals import bench_workspace
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.bubblewrap_session import BubblewrapSession
from harness.sandbox.disk import remove_tree
from harness.sandbox.launch import in_memory
from harness.sandbox.profile import bubblewrap_arguments

_ROUNDS = 50
_PAUSES = 20
_PAUSE_SECONDS = 0.1
"""Between two commands of an agent lies a call of its model, so the kernel's own short cuts have ended."""
_SELF_TESTS = 5
_UID = 64_123
_BASH = ("/bin/bash", "--noprofile", "--norc", "-c", "true")
_BARS = {
    "times_plain": 60.0,
    "times_bare_bubblewrap": 2.0,
    "self_test_times_plain": 300.0,
    "prepare_s": 6.0,
    "publish_s": 3.0,
}
"""Wide, since a busy machine stretches short steps; ratios are of medians in one run, turn by turn."""

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
    plain, bare, sandboxed, paused = [], [], [], []
    with closing(sandbox.open(SandboxPolicy(writable=work, scratch=room / "scratch"))) as session:
        # Turn by turn, so that a busy moment of the machine weighs on all.
        for _ in range(_ROUNDS):
            plain.append(_milliseconds(_plain))
            sandboxed.append(_milliseconds(lambda: session.run("true", 30)))
            bare.append(_milliseconds(lambda: _bare(session)))
        for _ in range(_PAUSES):
            time.sleep(_PAUSE_SECONDS)
            paused.append(_milliseconds(lambda: session.run("true", 30)))
    medians = [statistics.median(each) for each in (plain, bare, sandboxed, paused)]
    return {
        "plain_ms_per_command": round(medians[0], 2),
        "bare_bubblewrap_ms": round(medians[1], 2),
        "sandbox_ms_per_command": round(medians[2], 2),
        "sandbox_ms_after_a_pause": round(medians[3], 2),
        "over_plain_ms": round(medians[2] - medians[0], 2),
        "times_plain": round(medians[2] / medians[0], 1),
        "times_bare_bubblewrap": round(medians[2] / medians[1], 2),
        "self_test_ms": round(self_test, 1),
        "self_test_times_plain": round(self_test / medians[0], 1),
        "isolation": sandbox.isolation,
    }


def _plain() -> None:
    subprocess.run(_BASH, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def _bare(session: BubblewrapSession) -> None:
    """Run the same command in bubblewrap with the session's options, and with nothing else: the floor.

    No limits, no control group, no gates: whatever comes on top of this is ours.
    """
    setting = session._setting
    with ExitStack() as opened, Path(os.devnull).open("wb") as nowhere:

        def passed(content: bytes) -> int:
            descriptor = in_memory(content, "bench")
            opened.callback(os.close, descriptor)
            return descriptor

        seccomp, files = passed(setting.seccomp), {at: passed(text) for at, text in setting.files.items()}
        told = bubblewrap_arguments(
            setting.profile, seccomp_fd=seccomp, info_fd=nowhere.fileno(), files=files
        )
        options = passed(b"".join(os.fsencode(word) + b"\0" for word in told))
        subprocess.run(
            [*setting.user.words, str(setting.bwrap), "--args", str(options), "--", *_BASH],
            stdin=subprocess.DEVNULL, capture_output=True, check=True, env={},
            pass_fds=(seccomp, options, nowhere.fileno(), *files.values()),
        )  # fmt: skip


def _median_ms(action: Callable[[], object], rounds: int) -> float:
    return statistics.median(_milliseconds(action) for _ in range(rounds))


def _milliseconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    sys.exit(main())
