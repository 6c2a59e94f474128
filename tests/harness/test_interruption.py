"""A sandbox that is told to stop: what runs dies, and nothing new begins."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from domain.errors import Stopped
from domain.ports import SandboxPolicy
from harness.interruption import InterruptibleSandbox
from harness.sandbox.bubblewrap import BubblewrapSandbox
from tests.harness.git_world import reachable_directory
from tests.worker.town import Stage


@pytest.fixture
def policy(tmp_path: Path) -> SandboxPolicy:
    for name in ("work", "scratch"):
        (tmp_path / name).mkdir()
    return SandboxPolicy(writable=tmp_path / "work", scratch=tmp_path / "scratch")


def test_without_a_stop_it_is_the_sandbox_itself(policy: SandboxPolicy) -> None:
    sandbox = InterruptibleSandbox(Stage())
    sandbox.self_test()
    session = sandbox.open(policy)
    result = session.run("echo out; exit 3", 10)
    session.close()
    assert (result.output, result.exit_code, sandbox.isolation) == ("out\n", 3, "none (test double)")


def test_a_running_command_is_killed_and_has_no_result(policy: SandboxPolicy) -> None:
    stage = Stage()
    sandbox = InterruptibleSandbox(stage)
    stage.cues["sleep 600"] = sandbox.interrupt
    session = sandbox.open(policy)
    with pytest.raises(Stopped):
        session.run("sleep 600; touch late", 600)
    assert not (policy.writable / "late").exists()


def test_after_a_stop_nothing_begins(policy: SandboxPolicy) -> None:
    stage = Stage()
    sandbox = InterruptibleSandbox(stage)
    session = sandbox.open(policy)
    sandbox.interrupt()
    sandbox.interrupt()
    with pytest.raises(Stopped):
        session.run("touch late", 10)
    with pytest.raises(Stopped):
        sandbox.open(policy)
    assert stage.commands == []


def test_every_open_session_is_ended_and_closed_ones_are_left_alone(policy: SandboxPolicy) -> None:
    ended: list[str] = []

    class Session:
        def __init__(self, name: str) -> None:
            self.name = name

        def stop(self) -> None:
            ended.append(self.name)

        def close(self) -> None:
            pass

    class Named(Stage):
        names = iter("abc")

        def open(self, policy: SandboxPolicy):  # type: ignore[no-untyped-def,override]  # a session of ours
            return Session(next(self.names))

    sandbox = InterruptibleSandbox(Named())
    first, _, _ = (sandbox.open(policy) for _ in range(3))
    first.close()
    sandbox.interrupt()
    assert sorted(ended) == ["b", "c"]


def test_an_interrupt_in_the_middle_of_opening_does_not_hang(
    policy: SandboxPolicy,
) -> None:
    sandbox = InterruptibleSandbox(Stage())

    class Opening(set[object]):
        def add(self, session: object) -> None:
            super().add(session)
            sandbox.interrupt()

    sandbox._open = Opening()  # type: ignore[assignment]
    session = sandbox.open(policy)
    with pytest.raises(Stopped):
        session.run("true", 10)


def test_the_real_sandbox_ends_at_once() -> None:
    uid = 200_000 + os.getpid() if os.geteuid() == 0 else None
    with reachable_directory() as room:
        work = room / "work"
        work.mkdir(mode=0o700)
        if uid is not None:
            os.chown(work, uid, uid)
        sandbox = InterruptibleSandbox(BubblewrapSandbox(uid=uid))
        session = sandbox.open(SandboxPolicy(writable=work, scratch=room / "scratch"))
        ready = work / "ready"
        os.mkfifo(ready, 0o666)
        ready.chmod(0o666)

        def stop_when_ready() -> None:
            with ready.open() as pipe:
                pipe.read(1)
            sandbox.interrupt()

        watcher = threading.Thread(target=stop_when_ready)
        watcher.start()
        with pytest.raises(Stopped):
            session.run("echo x > ready; sleep 600", 600)
        watcher.join()
        session.close()
