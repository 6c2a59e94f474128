"""A: attacks of a command on secrets, on the host's files, processes and network, on the kernel, on us."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.sandbox.session import CommandSession

Survivors = Callable[[str], list[str]]
CANARY = "canary-" + "7f3a9c"


@pytest.fixture(autouse=True)
def canary_in_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)


def test_a01_no_environment_of_any_process_holds_a_secret(confined: CommandSession) -> None:
    shown = confined.run(
        "env; cat /proc/self/environ /proc/1/environ /proc/*/environ /proc/$PPID/environ", 10
    )
    assert "GIT_PAGER=cat" in shown.output and CANARY not in shown.output


def test_a01_nothing_of_the_worker_can_be_seen_in_proc(confined: CommandSession) -> None:
    shown = confined.run(
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; ls -l /proc/*/fd; echo /proc/[0-9]*", 10
    ).output
    assert "pytest" not in shown and "sqlite" not in shown
    assert len([word for word in shown.split() if word.startswith("/proc/") and word[6:].isdigit()]) <= 8


def test_a01_a_command_holds_no_descriptor_but_its_streams(confined: CommandSession) -> None:
    listed = confined.run("for fd in /proc/self/fd/*; do readlink $fd; done", 10).output.split()
    assert listed[0] == "/dev/null"
    assert [name.partition(":")[0] for name in listed[1:3]] == ["pipe", "pipe"]
    assert all(name.startswith("/proc/") for name in listed[3:])


def test_a01_a_descriptor_that_the_worker_lets_its_children_inherit_is_not_inherited(
    confined: CommandSession, room: Path
) -> None:
    secret = room / "secret"
    secret.write_text(CANARY)
    with secret.open() as file:
        os.set_inheritable(file.fileno(), True)
        shown = confined.run(
            "for fd in /proc/[0-9]*/fd/*; do head -c 99 $fd </dev/null; done 2>/dev/null", 10
        )
    assert CANARY not in shown.output


@pytest.mark.parametrize(
    "path",
    ["/data", "/etc/shadow", "/root", "/.fly", "/run/docker.sock", "/var/run/docker.sock", "/sys/kernel",
     "/var/lib", "/etc/ssl/private", "/boot", "/srv", __file__],
)  # fmt: skip
def test_a03_host_paths_do_not_exist(confined: CommandSession, path: str) -> None:
    result = confined.run(f"ls -la {path}; cat {path}", 10)
    assert result.exit_code != 0
    assert result.output.count("No such file or directory") == 2


def test_a03_the_hosts_name_is_not_there(confined: CommandSession) -> None:
    shown = confined.run("cat /etc/hostname; hostname; uname -n", 10).output.split()
    assert socket.gethostname() not in shown


def test_a03_a_file_beside_the_worktree_is_out_of_reach(confined: CommandSession, room: Path) -> None:
    secret = room / "secret"
    secret.write_text(CANARY)
    secret.chmod(0o666)
    shown = confined.run(
        f"cat {secret} ../secret /work/../secret; ln -s {room} way; cat way/secret; echo > way/secret; "
        f"ln -s / root; cat root{secret}; sqlite3 {secret} .dump",
        10,
    )
    assert CANARY not in shown.output
    assert secret.read_text() == CANARY


def test_a04_killing_everything_kills_only_the_sandbox(confined: CommandSession) -> None:
    confined.run(f"kill -9 {os.getpid()}; kill -9 1; kill -9 -1", 10)
    assert confined.run("echo alive", 10).output == "alive\n"


@pytest.mark.parametrize(
    "place",
    ["/x", "/usr/x", "/usr/bin/env", "/etc/x", "/etc/passwd", "/opt/x", "/dev/x", "/home/x", "/run/x"],
)
def test_a05_the_system_cannot_be_written(confined: CommandSession, place: str) -> None:
    assert confined.run(f"echo x >> {place}", 10).exit_code != 0


@pytest.mark.parametrize("setting", ["kernel/core_pattern", "kernel/hostname", "vm/drop_caches"])
def test_a05_kernel_settings_cannot_be_opened_for_writing(confined: CommandSession, setting: str) -> None:
    assert confined.run(f": >> /proc/sys/{setting}", 10).exit_code != 0


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        "unshare -Ur true",
        "unshare -m true",
        "bwrap --ro-bind / / true",
        "mount -t tmpfs none /work",
        "mount -o remount,rw /usr",
        "umount /usr",
        "mknod device b 254 0",
        "mknod device c 1 1",
        "chroot / true",
        "nsenter -t 1 -m true",
        "setpriv --reuid 0 true",
        "su -c true",
        "swapoff -a",
        "date -s 2001-01-01",
        "chrt --other 0 nice -n -5 true; exit $(( $(nice) < 0 ? 0 : 1 ))",
    ],
)
def test_a10_privileged_commands_fail(confined: CommandSession, command: str) -> None:
    assert confined.run(command, 10).exit_code != 0


CALLS = """
import ctypes, errno, os, platform, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    answer = libc.syscall(number, *arguments)
    return "worked" if answer >= 0 else errno.errorcode[ctypes.get_errno()]
def ending(number, *arguments):  # another ABI's call may be the process' last
    child = os.fork()
    if child == 0:
        os._exit(0 if call(number, *arguments) == "ENOSYS" else 9)
    status = os.waitpid(child, 0)[1]
    return "ENOSYS" if status == 0 else signal.Signals(status & 127 or 1).name
for name, family in (
    ("vsock", 40), ("alg", 38), ("packet", 17), ("netlink", 16), ("bluetooth", 31), ("tipc", 30),
):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind); print(name, kind, "worked")
        except OSError as error: print(name, kind, errno.errorcode[error.errno])
arm = platform.machine() in ("aarch64", "arm64")
for name, x86, other, *arguments in (
    ("io_uring_setup", 425, 425, 1, 0), ("bpf", 321, 280, 0, 0, 0), ("keyctl", 250, 219, 0, -3, 0),
    ("add_key", 248, 217, 0, 0, 0, 0, -3), ("ptrace", 101, 117, 0, 0, 0, 0), ("userfaultfd", 323, 282, 0),
    ("perf_event_open", 298, 241, 0, 0, -1, -1, 0), ("process_vm_readv", 310, 270, 1, 0, 0, 0, 0, 0),
    ("unshare", 272, 97, 0x10000000), ("setns", 308, 268, 0, 0), ("clone", 56, 220, 0x10000011, 0, 0, 0, 0),
    ("clone3", 435, 435, 0, 0), ("open_by_handle_at", 304, 265, -1, 0, 0), ("fsopen", 430, 430, 0, 0),
    ("kexec_load", 246, 104, 0, 0, 0, 0), ("x32 getpid", 0x40000000 + 39, 425, 1, 0),
):
    print(name, (ending if name == "x32 getpid" else call)(other if arm else x86, *arguments))
"""


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="needs the system's Python")
def test_a11_system_calls_beyond_the_namespaces_are_refused(confined: CommandSession, room: Path) -> None:
    (room / "tree/calls.py").write_text(CALLS)
    result = confined.run("/usr/bin/python3 calls.py", 20)
    answers = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in result.output.splitlines()}
    assert result.exit_code == 0 and len(answers) == 6 * 4 + 16
    assert answers.pop("x32 getpid") in {"ENOSYS", "SIGSYS"}
    assert set(answers.values()) <= {"EPERM", "EAFNOSUPPORT", "ENOSYS"}
    assert answers["vsock 1"] == "EAFNOSUPPORT" and answers["io_uring_setup"] == "ENOSYS"
    assert answers["ptrace"] == "EPERM" and answers["clone"] == "EPERM"


def test_a12_unix_sockets_of_the_host_are_not_there(confined: CommandSession, room: Path) -> None:
    name = f"fixwright-{secrets.token_hex(6)}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        abstract.bind(f"\0{name}")
        abstract.listen()
        named.bind(str(room / "door"))
        named.listen()
        (room / "door").chmod(0o777)
        connect = "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace('@', chr(0)))"
        for address in (f"@{name}", str(room / "door")):
            result = confined.run(f'python3 -c "{connect}" {address}', 10)
            assert result.exit_code != 0
            assert "ConnectionRefused" in result.output or "FileNotFound" in result.output


def test_a16_the_hosts_loopback_and_the_world_cannot_be_reached(confined: CommandSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        targets = (
            f"127.0.0.1/{port}",
            "1.1.1.1/53",
            "169.254.169.254/80",
            "fdaa::3/53",
            "localhost/" + str(port),
        )
        for target in targets:
            result = confined.run(f"exec 3<>/dev/tcp/{target}", 10)
            assert result.exit_code != 0 and not result.timed_out
    assert confined.run("getent hosts example.com", 10).exit_code != 0


def test_a13_set_user_id_files_give_nothing(confined: CommandSession, room: Path, uid: int | None) -> None:
    confined.run("cp /usr/bin/id mine; chmod 6755 mine; ./mine", 10)
    assert (room / "tree/mine").stat().st_uid == (uid or os.geteuid()) != 0
    options = confined.run("grep ' /work ' /proc/mounts", 10).output
    assert "nosuid" in options and "nodev" in options
    assert "NoNewPrivs:\t1" in confined.run("cat /proc/self/status", 10).output


def test_a14_system_files_cannot_be_linked_into_the_worktree(confined: CommandSession, room: Path) -> None:
    assert confined.run("ln /usr/bin/env stolen", 10).exit_code != 0
    assert not (room / "tree/stolen").exists()
