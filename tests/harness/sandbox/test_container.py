"""The container back end for real: endings in its start, dead workers, orphans, images, what is shown."""

from __future__ import annotations

import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import SandboxError
from domain.ports import SandboxPolicy, Shown
from harness.sandbox.container import ContainerSandbox
from harness.sandbox.container_arguments import EGRESS
from harness.sandbox.container_engine import find_engine
from harness.sandbox.container_owner import ourselves, reap_orphans
from tests.harness.sandbox.engine_world import EngineWorld

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
PolicyMaker = Callable[..., SandboxPolicy]
Survivors = Callable[[str], list[str]]


def own_containers(engine: EngineWorld, sandbox: ContainerSandbox) -> list[str]:
    listed = engine.call("ps", "--all", "--quiet", "--filter", f"label=fixwright.service={sandbox.service}")
    return listed.split()


def test_the_isolation_names_engine_image_and_user(
    container: ContainerSandbox, engine: EngineWorld, uid: int | None
) -> None:
    digest = engine.call("image", "inspect", "--format", "{{.Digest}}", engine.image).strip()
    line = container.isolation
    assert line.startswith("podman ") and f"image {digest}, " in line
    assert ("separate uid" if uid else "same uid as the worker") in line
    assert line.endswith(f"no network, seccomp, {find_engine(container.engine).cgroup and 'cgroup v'}"
                         f"{find_engine(container.engine).cgroup[1:] or 'no cgroup'}")  # fmt: skip


def test_a_missing_image_is_named_with_the_command_and_nothing_is_fetched(
    container: ContainerSandbox, policy: PolicyMaker
) -> None:
    absent = replace(container, image="localhost/nobody/has-this:1")
    for attempt in (absent.self_test, lambda: absent.open(policy())):
        with pytest.raises(SandboxError, match="podman pull localhost/nobody/has-this:1"):
            attempt()
    assert absent.isolation.startswith("none, nothing is run")


def test_an_image_that_was_taken_away_meanwhile_is_an_error_and_leaves_nothing(
    container: ContainerSandbox, engine: EngineWorld, policy: PolicyMaker
) -> None:
    with closing(container.open(policy())) as session:
        setting = session._setting
        gone = replace(setting.box().image, id="f" * 64)
        session._setting = replace(setting, box=lambda: replace(setting.box(), image=gone))
        with pytest.raises(SandboxError, match="podman create failed"):
            session.run("true", 10)
    assert own_containers(engine, container) == []


def test_kills_and_stops_at_any_moment_leave_nobody(
    container: ContainerSandbox, engine: EngineWorld, policy: PolicyMaker, survivors: Survivors
) -> None:
    word, dice = secrets.token_hex(8), random.Random(3)
    with closing(container.open(policy())) as session:
        for _ in range(4):
            assert session.run(f"setsid sleep 300; : {word}", dice.uniform(0, 0.02)).timed_out
            assert survivors(word) == [] and own_containers(engine, container) == []
    for delay in (0.0, 0.1, 0.2, 0.3):
        with closing(container.open(policy())) as session:
            alarm = threading.Timer(delay, session.stop)
            alarm.start()
            assert session.run(f"setsid sleep 300; : {word}", 100).killed == "stopped"
            alarm.join()
        assert survivors(word) == [] and own_containers(engine, container) == []


WORKER = """
import sys
from pathlib import Path
from domain.ports import SandboxPolicy
from harness.sandbox.container import ContainerSandbox
room, uid, engine, image, service = Path(sys.argv[1]), int(sys.argv[2]) or None, *sys.argv[3:]
sandbox = ContainerSandbox(
    state=room / "state", image=image, uid=uid, engine=engine, service=service, nice=False
)
session = sandbox.open(SandboxPolicy(writable=room / "tree", scratch=room / "s"))
session.run("exec 7>held; setsid sleep 300 & trap '' TERM; sleep 300", 300)
"""


@pytest.fixture
def dead_worker(container: ContainerSandbox, policy: PolicyMaker, room: Path, uid: int | None) -> Path:
    """A worker that was killed while its command ran; returns what the command holds open."""
    held = policy().writable / "held"
    os.mkfifo(held)
    held.chmod(0o666)
    words = (str(room), str(uid or 0), container.engine, container.image, container.service)
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *words], cwd=ROOT)
    with held.open("rb") as other_end:  # opens when the command has opened its own
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert other_end.read() == b""  # ends when the last process that holds it is dead
    return held


def test_nothing_outlives_a_killed_worker_and_its_container_is_reaped(
    dead_worker: Path, container: ContainerSandbox, engine: EngineWorld
) -> None:
    assert len(own_containers(engine, container)) == 1
    container.self_test()
    assert own_containers(engine, container) == []


def test_only_orphans_of_the_same_service_are_reaped(
    container: ContainerSandbox, engine: EngineWorld, policy: PolicyMaker
) -> None:
    found = find_engine(container.engine)
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--network", "none")
    me = ourselves(container.service)
    dead = replace(me, process="999999999:1")
    for owner in (me, dead, replace(dead, boot="before"), replace(dead, service="another-service")):
        labels = [word for key, value in owner.labels.items() for word in ("--label", f"{key}={value}")]
        engine.call("create", *limits, *labels, container.image, "true")
    assert reap_orphans(found, me) == 2
    assert len(own_containers(engine, container)) == 1
    assert reap_orphans(found, replace(dead, service="another-service", process="1:0")) == 1
    assert reap_orphans(found, replace(me, process="1:0", boot="after")) == 1


def test_more_can_be_shown_and_written_where_the_policy_says_so(
    container: ContainerSandbox, policy: PolicyMaker, room: Path, uid: int | None
) -> None:
    for name in ("shown", "cache"):
        (room / name).mkdir(mode=0o755)
        (room / name / "file").write_text(f"{name}\n")
        if uid is not None:
            os.chown(room / name, uid, uid)
    (room / "shown/hello").write_text("#!/bin/sh\necho hello\n")
    (room / "shown/hello").chmod(0o755)
    shown = (
        Shown(source=room / "shown", target="/opt/shown"),
        Shown(source=room / "cache", target="/opt/cache", writable=True),
    )
    with closing(container.open(policy(shown=shown, path=("/opt/shown",)))) as session:
        result = session.run("hello; cat /opt/*/file; touch /opt/cache/new; touch /opt/shown/new", 20)
    assert result.output.startswith("hello\ncache\nshown\n") and "Read-only file system" in result.output
    assert (room / "cache/new").exists() and not (room / "shown/new").exists()


def test_the_proxys_socket_can_be_used_and_nothing_else(
    container: ContainerSandbox, policy: PolicyMaker, room: Path, uid: int | None
) -> None:
    with socket.socket(socket.AF_UNIX) as proxy:
        proxy.bind(str(room / "proxy.sock"))
        proxy.listen()
        (room / "proxy.sock").chmod(0o666)
        script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{EGRESS}'); s.send(b'hi')"
        with closing(container.open(policy(egress=room / "proxy.sock"))) as session:
            assert session.run(f'python3 -c "{script}"; cat /proc/net/dev', 20).exit_code == 0
        accepted, _ = proxy.accept()
        with accepted:
            assert accepted.recv(10) == b"hi"


@pytest.mark.parametrize("source", ["/run", "/run/podman/podman.sock", "/var/run/docker.sock", "/"])
def test_an_engines_door_is_never_shown(
    container: ContainerSandbox, policy: PolicyMaker, source: str
) -> None:
    with pytest.raises(SandboxError, match="engine's socket"):
        container.open(policy(shown=(Shown(source=Path(source), target="/opt/door"),)))


def test_variables_of_the_image_are_there_and_ours_win(
    container: ContainerSandbox, engine: EngineWorld, policy: PolicyMaker
) -> None:
    name = f"localhost/fixwright-test-variables:{os.getpid()}"
    limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--network", "none")
    made = engine.call("create", *limits, container.image, "true").strip()
    changes = ("ENV JAVA_HOME=/opt/java", "ENV PATH=/opt/java/bin:/usr/bin", "ENV CI=no", "VOLUME /big")
    engine.call("commit", *(word for change in changes for word in ("--change", change)), made, name)
    engine.call("rm", made)
    try:
        sandbox = replace(container, image=name)
        sandbox.self_test()
        with closing(sandbox.open(policy())) as session:
            shown = session.run("echo $JAVA_HOME $PATH $CI; touch /big/file", 20).output
    finally:
        engine.call("image", "rm", name)
    assert shown.startswith("/opt/java /opt/java/bin:/usr/bin:/usr/local/bin:/bin true\n")
    assert "Read-only" in shown or "No such file" in shown


def test_descriptors_do_not_grow_with_commands(container: ContainerSandbox, policy: PolicyMaker) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    with closing(container.open(policy())) as session:
        session.run("true", 10)
        before = descriptors()
        for _ in range(2):
            session.run("true", 10)
            session.run("sleep 9", 0.01)
        assert descriptors() == before
