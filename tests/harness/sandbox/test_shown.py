"""What a policy shows of the host, puts on PATH, and lets out: exactly that, and no more than that."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from domain.errors import SandboxError
from domain.ports import Shown
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.egress import RELAY_START
from harness.sandbox.places import EGRESS_SOCKET, RELAY_PORT
from harness.sandbox.profile import EGRESS_GATE, INNER_GATE


def owned(path: Path, uid: int | None, files: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    if uid is not None:
        for each in (path, *path.iterdir()):
            os.chown(each, uid, uid)
    return path


@contextmanager
def echoing(path: Path, uid: int | None) -> Iterator[list[bytes]]:
    """Answer each connection to a Unix socket with what it sent, once it has sent it all."""
    heard: list[bytes] = []
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    if uid is not None:
        os.chown(path, uid, uid)

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                said = client.makefile("rb").read()
                heard.append(said)
                client.sendall(said[::-1])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def test_a_shown_directory_is_read_only_unless_it_is_writable(
    room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox
) -> None:
    kept = owned(room / "kept", uid, {"a": "one\n"})
    filled = owned(room / "filled", uid, {})
    wanted = policy(
        shown=(
            Shown(source=kept, target="/setup"),
            Shown(source=kept, target="/work/deep/node_modules"),
            Shown(source=filled, target="/home/agent", writable=True),
        )
    )
    with closing(bubblewrap.open(wanted)) as session:
        assert session.run("cat /setup/a deep/node_modules/a", 10).output == "one\none\n"
        for attack in ("echo x >/setup/b", "rm -f deep/node_modules/a", "chmod 777 /setup", "rm -rf deep"):
            assert session.run(attack, 10).exit_code != 0, attack
        assert session.run("echo made >/home/agent/new", 10).exit_code == 0
    assert (kept / "a").read_text() == "one\n" and (filled / "new").read_text() == "made\n"
    assert not (room / "tree/deep").exists()  # the mount points are gone with the session


def test_a_shown_file_leaves_nothing_behind_in_the_worktree(
    room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox
) -> None:
    kept = owned(room / "kept", uid, {"v": "version = 1\n"})
    wanted = policy(shown=(Shown(source=kept / "v", target="/work/src/_version.py"),))
    with closing(bubblewrap.open(wanted)) as session:
        assert session.run("cat src/_version.py", 10).output == "version = 1\n"
        assert session.run("echo x >src/_version.py", 10).exit_code != 0
        session.run("mv src old; ln -s /etc src", 10)
        assert session.run("cat src/_version.py; rm -r old", 10).output == "version = 1\n"
    assert list((room / "tree").iterdir()) == []


@pytest.mark.parametrize(
    "target", ["relative", "/setup/../etc", "/", "/etc/x", "/usr/lib/x", "/run/x", "/work", "/tmp", "/proc/1"]
)
def test_nothing_is_shown_in_the_place_of_what_we_made(
    room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox, target: str
) -> None:
    kept = owned(room / "kept", uid, {})
    with pytest.raises(SandboxError, match="cannot be shown"):
        bubblewrap.open(policy(shown=(Shown(source=kept, target=target),)))


def test_a_link_is_never_followed_to_what_it_would_show(
    room: Path, policy, bubblewrap: BubblewrapSandbox
) -> None:
    (room / "link").symlink_to("/root")
    with pytest.raises(SandboxError, match="cannot be shown"):
        bubblewrap.open(policy(shown=(Shown(source=room / "link", target="/setup"),)))


def test_the_policys_path_comes_after_helpers_and_before_tools(room: Path, policy, uid: int | None) -> None:
    for name in ("helper", "tool"):
        (room / name).mkdir()
    sandbox = BubblewrapSandbox(
        uid=uid, nice=False, tools=[room / "tool"], helpers={"/opt/h": room / "helper"}
    )
    with closing(sandbox.open(policy(path=("/setup/bin",)))) as session:
        shown = session.run("echo $PATH", 10).output.split(":")
    assert shown[:3] == ["/opt/h", "/setup/bin", str(room / "tool")]


@pytest.mark.parametrize("relay", ["perl", pytest.param("python3", marks=pytest.mark.long)])
def test_what_a_command_sends_to_the_loopback_port_reaches_the_proxy(
    room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox, relay: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if relay == "python3":
        gate = EGRESS_GATE.replace("/usr/bin/perl:", "/nonexistent:")
        monkeypatch.setattr("harness.sandbox.bubblewrap_session.EGRESS_GATE", gate)
    ask = (
        "import os,socket;from urllib.parse import urlsplit;at=urlsplit(os.environ['HTTPS_PROXY'])\n"
        "for n in range(3):\n"
        " s=socket.create_connection((at.hostname,at.port));s.sendall(b'ab'*500000);s.shutdown(1)\n"
        " got=b''.join(iter(lambda: s.recv(65536), b''));print(len(got), got[:2])\n"
    )
    with echoing(room / "proxy.sock", uid) as heard:
        with closing(bubblewrap.open(policy(egress=room / "proxy.sock"))) as session:
            result = session.run(f'/usr/bin/python3 -c "{ask}"', 30)
            assert result.output == "1000000 b'ba'\n" * 3
            assert "left in the background" not in session.run("true", 10).output
        assert [len(each) for each in heard] == [1_000_000] * 3


def test_a_session_without_a_way_out_shows_no_trace_of_one(confined) -> None:
    look = f"env; ls -R /run; cat /proc/*/cmdline; (exec 3<>/dev/tcp/127.0.0.1/{RELAY_PORT}) && echo open"
    shown = confined.run(look, 10).output.lower().replace(look.lower(), "")
    assert "proxy" not in shown and "relay" not in shown and "egress" not in shown
    assert RELAY_START not in INNER_GATE and EGRESS_SOCKET in EGRESS_GATE
    assert "succeeded" not in shown and "\nopen" not in shown


def test_a_way_out_adds_no_other(room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, echoing(room / "proxy.sock", uid):
        port = listener.getsockname()[1]
        with closing(bubblewrap.open(policy(egress=room / "proxy.sock"))) as session:
            tried = session.run(f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached; ls /sys/class/net", 10)
            assert "reached" not in tried.output
            vsock = session.run("perl -e 'exit(socket(my $s, 40, 1, 0) ? 0 : 1)'", 10)
            assert vsock.exit_code == 1
            assert session.run(f"rm -f {EGRESS_SOCKET}", 10).exit_code != 0


@pytest.mark.long
def test_what_is_written_through_a_shown_directory_counts_against_the_disk_limit(
    room: Path, policy, uid: int | None, bubblewrap: BubblewrapSandbox
) -> None:
    filled = owned(room / "filled", uid, {})
    wanted = policy(
        shown=(Shown(source=filled, target="/setup", writable=True),), disk_bytes=2**20, file_bytes=2**25
    )
    with closing(bubblewrap.open(wanted)) as session:
        result = session.run("head -c 8000000 /dev/zero >/setup/big; sleep 20", 15)
    assert result.killed
