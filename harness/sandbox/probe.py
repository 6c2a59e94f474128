"""The self-test: runs a script inside, compares what it saw with the host, and names what does not hold."""

from __future__ import annotations

import os
import re
import secrets
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.disk import remove_tree
from harness.sandbox.environment import USER_ID, command_environment
from harness.sandbox.identity import Identity
from harness.sandbox.session import CommandSession, SessionMaker

_NAMESPACES = ("user", "pid", "net", "mnt", "ipc", "uts", "cgroup")
_START_SECONDS = 20.0
_KILL_AFTER_SECONDS = 0.03
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_SHELL_OWN = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})

_SCRIPT = """\
echo "began=$1"
while read -r key value; do
  case $key in Uid:|CapPrm:|CapEff:|CapBnd:|NoNewPrivs:|Seccomp:) echo "$key=${value%%[[:space:]]*}";; esac
done </proc/self/status
set -- "$1" "$2" "$3" $(readlink /proc/self/ns/{user,pid,net,mnt,ipc,uts,cgroup})
echo "namespaces=${*:4}"
echo "environment=$(compgen -e | tr '\\n' ' ')"
echo "first_environment=$(tr '\\0' ' ' </proc/1/environ)"
echo "processes=$(echo /proc/[0-9]*)"
for place in / /usr /etc /opt /dev; do
  [ -d "$place" ] && : 2>/dev/null >"$place/.fixwright-probe" && echo "writable=$place"
done
: 2>/dev/null >"$HOME/.fixwright-probe" || echo "closed=$HOME"
: 2>/dev/null >>/proc/sys/kernel/core_pattern && echo "writable=/proc/sys"
[ -e "$2" ] && echo "host_file=$2"
exec 2>/dev/null
(exec 3<>"/dev/tcp/127.0.0.1/$3") && echo "network=loopback of the host"
perl -e 'exit(socket(my $s, 40, 1, 0) ? 0 : 1)'
case $? in 0) echo vsock=open;; 1) echo vsock=closed;; esac
echo "ended=$1"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a back end promises beyond the rest: the uid inside, and which namespaces are the host's.

    `variables` may be in the environment besides the fixed ones. The first process inside is a shell of ours
    with that environment, or something that needs none.
    """

    uid: int = USER_ID
    shared: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    first_process_is_a_shell: bool = False


STRICTEST = Expected()


def probe(open_session: SessionMaker, identity: Identity, expected: Expected = STRICTEST) -> None:
    """Run the self-test in a session of its own. Raises SandboxError."""
    room = Path(tempfile.mkdtemp(prefix="fixwright-probe-"))
    try:
        room.chmod(0o711)
        work = room / "work"
        work.mkdir(0o700)
        if identity.separate:
            os.chown(work, identity.uid, identity.gid)
        session = open_session(SandboxPolicy(writable=work, scratch=room / "scratch"))
        with closing(session):
            _require(_isolation_problems(session, room, expected))
            _require(_killing_problems(session))
    except SandboxError as error:
        raise SandboxError(f"{error}{way_out(str(error), _kernel_settings())}") from error
    finally:
        remove_tree(room)


def way_out(problem: str, kernel: Mapping[str, str]) -> str:
    """Return what an operator can do about a failed set-up, given the kernel's settings; may be empty."""
    for setting, closed, remedy in (
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):
        if kernel.get(setting) == closed:
            return f"; user namespaces are switched off, switch them on with: {remedy}"
    if "hybrid mode" in problem:
        return '; install runc, and set runtime = "runc" under [engine] in /etc/containers/containers.conf'
    if "namespace" in problem and "bubblewrap could not" in problem:
        return "; if this is a container, it must allow user namespaces (seccomp and AppArmor profile)"
    if "mount proc" in problem:
        return "; if this is a container, start it with: --security-opt systempaths=unconfined"
    return ""


def _kernel_settings() -> dict[str, str]:
    names = (
        "user/max_user_namespaces",
        "kernel/unprivileged_userns_clone",
        "kernel/apparmor_restrict_unprivileged_userns",
    )
    files = {name: Path("/proc/sys") / name for name in names}
    return {name: file.read_text().strip() for name, file in files.items() if file.exists()}


def _require(problems: list[str]) -> None:
    if problems:
        raise SandboxError("the sandbox does not hold: " + "; ".join(problems))


def _isolation_problems(session: CommandSession, room: Path, expected: Expected) -> list[str]:
    nonce = secrets.token_hex(8)
    canary = room / "canary"
    canary.touch()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        script = f"set -- {nonce} {canary} {port}\n{_SCRIPT}"
        result = session.run(script, _START_SECONDS)
    seen: dict[str, str] = {}
    for line in result.output.splitlines():
        key, _, value = line.partition("=")
        seen[key] = value
    if seen.get("began") != nonce or seen.get("ended") != nonce:
        return [f"the probe did not run to its end (exit status {result.exit_code}): {result.output[-500:]}"]
    return problems_seen(seen, _own_namespaces(expected.shared), expected)


def problems_seen(
    seen: Mapping[str, str], host_namespaces: frozenset[str], expected: Expected = STRICTEST
) -> list[str]:
    """Return what does not hold, given what the probe printed (key → value) and the host's namespaces."""
    names = _allowed_names() | expected.variables
    first_names = names if expected.first_process_is_a_shell else _SHELL_OWN
    checks: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("Uid:", lambda value: value == str(expected.uid)),
        ("CapPrm:", _is_zero),
        ("CapEff:", _is_zero),
        ("CapBnd:", _is_zero),
        ("NoNewPrivs:", lambda value: value == "1"),
        ("Seccomp:", lambda value: value == "2"),
        ("environment", lambda value: set(value.split()) <= names),
        ("first_environment", lambda value: _names_in(value) <= first_names),
        ("processes", lambda value: 0 < len(value.split()) <= 8 and "/proc/1" in value.split()),
    )
    problems = [
        f"{key.rstrip(':')} is {seen.get(key, 'unknown')!r} inside"
        for key, holds in checks
        if not holds(seen.get(key, ""))
    ]
    namespaces = seen.get("namespaces", "").split()
    shared = sorted(host_namespaces & set(namespaces))
    if shared or len(namespaces) != len(_NAMESPACES):
        problems.append(f"namespaces are shared with the host: {', '.join(shared) or 'unknown'}")
    for key, what in (
        ("writable", "can be written inside"),
        ("closed", "cannot be written inside; if the image has this directory, take it out"),
        ("host_file", "of the host is visible inside"),
        ("network", "can be reached from inside"),
    ):
        if key in seen:
            problems.append(f"{seen[key]} {what}")
    if seen.get("vsock") == "open":
        problems.append("vsock sockets can be made inside")
    return problems


def _killing_problems(session: CommandSession) -> list[str]:
    nonce = secrets.token_hex(8)
    result = session.run(f"trap '' TERM; setsid sleep 60 & sleep 60 # {nonce}", _KILL_AFTER_SECONDS)
    problems = [] if result.timed_out else ["a command was not ended at its time limit"]
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and nonce.encode() in (process / "cmdline").read_bytes():
                problems.append(f"process {process.name} survived its time limit")
        except OSError:  # it ended meanwhile
            continue
    return problems


def _allowed_names() -> set[str]:
    return set(command_environment({}, path=())) | _SHELL_OWN


def _names_in(block: str) -> set[str]:
    """Return the names in an environment block whose entries are parted by spaces, as values may be too."""
    return {item.partition("=")[0] for item in block.split() if _VARIABLE.match(item)}


def _own_namespaces(but: frozenset[str]) -> frozenset[str]:
    return frozenset(
        os.fspath(Path(f"/proc/self/ns/{name}").readlink()) for name in _NAMESPACES if name not in but
    )


def _is_zero(value: str) -> bool:
    return bool(value) and set(value) == {"0"}
