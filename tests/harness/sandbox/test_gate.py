"""The gate before a command: made ahead, limited and powerless, gone with the session or the worker."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.bubblewrap_session import BubblewrapSession
from harness.sandbox.cgroup import find_delegation
from harness.sandbox.launch import Launched

ROOT = Path(__file__).parents[3]


@pytest.fixture
def session(bubblewrap: BubblewrapSandbox, policy) -> Iterator[BubblewrapSession]:
    with closing(bubblewrap.open(policy())) as opened:
        yield opened


def standing_gate(session: BubblewrapSession) -> Launched:
    """Return the gate of the next command, once it has taken on the last but one of its limits."""
    assert session._ahead is not None
    launched = session._ahead.result()
    deadline = time.monotonic() + 20
    while "Max open files            4096 " not in of_proc(launched, "limits"):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return launched


def of_proc(launched: Launched, name: str) -> str:
    return Path(f"/proc/{launched.process.pid}/{name}").read_text()


def test_it_stands_there_limited_and_with_no_rights(session: BubblewrapSession, uid: int | None) -> None:
    session.run("true", 10)
    gate = standing_gate(session)
    status = dict(line.split(":\t", 1) for line in of_proc(gate, "status").splitlines())
    assert status["Uid"].split() == [str(uid or os.geteuid())] * 4
    assert status["CapEff"] == "0" * 16 and (uid is None or not status["Groups"].strip())
    assert of_proc(gate, "oom_score_adj").strip() == "1000"
    assert "Max processes             unlimited" not in of_proc(gate, "limits")
    assert not of_proc(gate, "environ").strip("\0")


def test_it_is_in_the_control_group_before_it_gets_leave(session: BubblewrapSession) -> None:
    if find_delegation() is None:
        pytest.skip("no control group can be made here")
    assert f"fixwright-{os.getpid()}-" in of_proc(standing_gate(session), "cgroup")


def test_it_holds_nothing_of_the_workers(session: BubblewrapSession, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        session.run("true", 10)
        held = Path(f"/proc/{standing_gate(session).process.pid}/fd").iterdir()
        names = {str(each.readlink()).partition(":")[0] for each in held}
    assert names <= {"pipe", "/memfd"}


def test_one_that_has_died_is_replaced(session: BubblewrapSession) -> None:
    for number in range(3):
        gate = standing_gate(session)
        gate.process.kill()
        assert gate.process.wait(10) == -signal.SIGKILL
        assert session.run(f"echo {number}", 10).output == f"{number}\n"


def test_it_goes_with_the_session(bubblewrap: BubblewrapSandbox, policy) -> None:
    with closing(bubblewrap.open(policy())) as session:
        session.run("true", 10)
        gate = standing_gate(session)
    assert gate.process.returncode == -signal.SIGKILL


def test_a_stopped_session_makes_no_more(session: BubblewrapSession) -> None:
    threading.Timer(0.02, session.stop).start()
    assert session.run("sleep 60", 60).killed == "stopped"
    assert session._ahead is None


def test_commands_may_come_from_threads_that_end(session: BubblewrapSession) -> None:
    results: list[str] = []
    for number in range(3):
        command = f"sleep 0.05; echo {number}"
        thread = threading.Thread(target=lambda text=command: results.append(session.run(text, 30).output))
        thread.start()
        thread.join()
    assert results == ["0\n", "1\n", "2\n"]


EVERY = "".join(map(chr, range(1, 0x250))) + "\n\n\t ' \" \\ $(id) `id` %s \n"


@pytest.mark.parametrize("text", ["", "\n", " a ", "\\", "-", EVERY, "x" * 90_000, "é" * 40_000 + "\n"])
def test_a_command_arrives_as_it_was_given(session: BubblewrapSession, text: str) -> None:
    quoted = "'" + text.replace("'", "'\\''") + "'"
    (session.policy.writable / "wanted").write_bytes(text.encode())
    result = session.run(f"printf %s {quoted} | cmp - wanted", 20)
    assert (result.exit_code, result.output) == (0, "")


WORKER = """
import sys
from pathlib import Path
from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
room, uid = Path(sys.argv[1]), int(sys.argv[2]) or None
session = BubblewrapSandbox(uid=uid).open(SandboxPolicy(writable=room / "tree", scratch=room / "s"))
print(session._ahead.result().process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.long
def test_it_does_not_outlive_a_killed_worker(policy, room: Path, uid: int | None) -> None:
    policy()
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(room), str(uid or 0)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as worker:  # fmt: skip
        assert worker.stdout is not None
        gate = os.pidfd_open(int(worker.stdout.readline()))
        worker.kill()
        poller = select.poll()
        poller.register(gate, select.POLLIN)
        assert poller.poll(20_000)
    os.close(gate)


def test_what_a_command_prints_at_once_is_no_part_of_the_set_up(
    policy, room: Path, as_root: int, bubblewrap: BubblewrapSandbox
) -> None:
    (room / "bwrap").write_text(
        "#!/bin/bash\nprintf 'a warning of the set-up\\n'\nexec /usr/bin/bwrap \"$@\"\n"
    )
    (room / "bwrap").chmod(0o755)
    talking = BubblewrapSandbox(uid=as_root, nice=False, bwrap=room / "bwrap")
    with closing(talking.open(policy())) as session:
        result = session.run("head -c 60000 /dev/zero | tr '\\0' x; echo; echo last", 20)
    assert (result.exit_code, result.bytes_seen) == (0, 60_006) and result.output.endswith("last\n")
