"""However it ends, nothing of a sandbox is left: not after a kill, not after the worker's death."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.bubblewrap_session import BubblewrapSession
from harness.sandbox.launch import Launched
from harness.sandbox.session import CommandSession

ROUNDS = int(os.environ.get("TEST_KILL_ROUNDS", "30"))
ROOT = Path(__file__).parents[3]


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


Survivors = Callable[[str], list[str]]


def standing_gate(session: BubblewrapSession) -> Launched:
    """Return the gate of the next command, once it has been made."""
    assert session._ahead is not None
    return session._ahead.result()


@pytest.fixture
def sandboxed(bubblewrap: BubblewrapSandbox, policy):
    with closing(bubblewrap.open(policy())) as session:
        yield session


@pytest.mark.long
def test_b23_kills_during_the_start_leave_nobody(sandboxed: CommandSession, survivors: Survivors) -> None:
    word = secrets.token_hex(8)
    dice = random.Random(1)
    for _ in range(ROUNDS):
        result = sandboxed.run(f"sleep 300; : {word}", dice.uniform(0, 0.015))
        assert result.timed_out
        assert survivors(word) == []


@pytest.mark.long
def test_b23_stops_during_the_start_leave_nobody(
    bubblewrap: BubblewrapSandbox, policy, survivors: Survivors
) -> None:
    word = secrets.token_hex(8)
    dice = random.Random(2)
    for _ in range(10):
        with closing(bubblewrap.open(policy())) as session:
            alarm = threading.Timer(dice.uniform(0, 0.015), session.stop)
            alarm.start()
            assert session.run(f"sleep 300; : {word}", 100).killed == "stopped"
            alarm.join()
        assert survivors(word) == []


WORKER = """
import sys
from pathlib import Path
from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
room, uid = Path(sys.argv[1]), int(sys.argv[2]) or None
session = BubblewrapSandbox(uid=uid, nice=False).open(
    SandboxPolicy(writable=room / "tree", scratch=room / "s")
)
session.run("exec 7>held; setsid sleep 300 & trap '' TERM; sleep 300", 300)
"""


@pytest.mark.long
def test_b22_nothing_outlives_a_killed_worker(policy, room: Path, uid: int | None) -> None:
    os.mkfifo(policy().writable / "held")
    (room / "tree/held").chmod(0o666)
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(room), str(uid or 0)], cwd=ROOT)
    with (room / "tree/held").open("rb") as held:  # opens when the command has opened its end
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert held.read() == b""  # ends when the last process that holds the other end is dead


def test_a_worker_killed_before_giving_leave_starts_nothing(
    sandboxed: CommandSession, room: Path, survivors: Survivors
) -> None:
    word = secrets.token_hex(8)
    launched = sandboxed._start(f"touch begun; sleep 300; : {word}")
    launched.process.stdin.close()  # what the kernel does for a dead worker
    launched.process.wait(10)
    assert launched.end() == 125
    assert not (room / "tree/begun").exists() and survivors(word) == []


def test_commands_of_one_session_wait_for_one_another(sandboxed: CommandSession) -> None:
    results: list[str] = []
    count = "n=$(cat n 2>/dev/null || echo 0); sleep 0.02; echo $((n + 1)) > n"
    threads = [
        threading.Thread(target=lambda: results.append(sandboxed.run(count, 30).killed)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sandboxed.run("cat n", 10).output == "4\n" and results == [""] * 4


@pytest.mark.long
def test_descriptors_and_memory_do_not_grow_with_commands(sandboxed: BubblewrapSession) -> None:
    sandboxed.run("true", 10)
    standing_gate(sandboxed)
    before = open_descriptors()
    for _ in range(10):
        sandboxed.run("true", 10)
        sandboxed.run("sleep 9", 0.01)
    standing_gate(sandboxed)
    assert open_descriptors() == before


def test_a_stop_after_the_close_is_harmless_and_descriptors_go_with_the_session(
    bubblewrap: BubblewrapSandbox, policy
) -> None:
    before = open_descriptors()
    session = bubblewrap.open(policy())
    session.close()
    session.stop()
    del session
    assert open_descriptors() == before


def test_a_failed_set_up_is_an_error_and_leaves_no_descriptor(policy, room: Path, as_root: int) -> None:
    (room / "bwrap").write_text("#!/bin/sh\necho no such luck\nexit 1\n")
    (room / "bwrap").chmod(0o755)
    before = open_descriptors()
    with closing(BubblewrapSandbox(uid=as_root, bwrap=room / "bwrap").open(policy())) as session:
        for _ in range(3):
            with pytest.raises(SandboxError, match="no such luck"):
                session.run("true", 10)
    del session
    assert open_descriptors() == before
