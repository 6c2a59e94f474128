"""What a container is made with, as the engine's arguments: pure, so that it can be tested as a list."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from domain.errors import SandboxError
from harness.sandbox.container_engine import Engine
from harness.sandbox.container_image import Image
from harness.sandbox.egress import RELAY_START, RELAY_STOP
from harness.sandbox.identity import Identity
from harness.sandbox.mounts import Mount
from harness.sandbox.places import EGRESS_SOCKET, HOME, TEMPORARY, WORK

_WAIT = """\
if [ $$ -ne 1 ]; then echo "this is not the first process of a container"; exit 125; fi
printf '\\006'
read -r go || exit 125
exec 3<&0 </dev/null 2>&1
( read -r never <&3; [ $$ -eq 1 ] && kill -KILL -1 ) >/dev/null 2>&1 & watcher=$!
exec 3<&-
[ -n "$2" ] && chrt --idle --pid 0 $$ 2>/dev/null
"""
_RUN = """\
/bin/bash --noprofile --norc -c "$1"
status=$?
"""
_TELL = """\
left= count=0
for process in /proc/[0-9]*; do
  case $process in /proc/1|"/proc/$watcher") continue;; esac
  read -r name <"$process/comm" || continue
  count=$((count + 1))
  [ $count -le 5 ] && left="$left $name"
done 2>/dev/null
[ -n "$left" ] && printf '\\n[%s left in the background, ended with this command:%s. %s]\\n' \\
  "$count" "$left" "Start a server and use it in one and the same command."
exit $status
"""
GATE = _WAIT + _RUN + _TELL
"""The container's first process: waits for leave; when it ends, the kernel ends all else in the container.

The end of its input means that the worker died: then the command is killed, too. That kills all that can be
seen, so an engine that did not make a process namespace must be found out before anything else.
"""
EGRESS_GATE = _WAIT + RELAY_START + _RUN + RELAY_STOP + _TELL
"""The same, with a relay to the proxy beside the command."""

_PROCESSOR_SHARE = 0.8
_LEAST_SHARES = "2"
_VOLUME_BYTES = 2**20
_OWN_PROCESSES = 8
_NOT_IN_A_MOUNT = frozenset(',"\n\r\0')


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """All that the containers of one session have in common.

    `ulimits` maps docker's names to values; `files` maps guest paths to files that we wrote for this.
    """

    image: Image
    identity: Identity
    labels: Mapping[str, str]
    seccomp: Path
    files: Mapping[str, Path]
    mounts: tuple[Mount, ...]
    work: Path
    scratch: Path
    egress: Path | None
    environment: Mapping[str, str]
    ulimits: Mapping[str, int]
    memory_bytes: int
    processes: int
    tmpfs_bytes: int
    yield_processor: bool


def create_arguments(
    engine: Engine, box: Box, *, name: str, command: str, pid_file: Path | None = None
) -> list[str]:
    """Return the engine's arguments that make a container for one command. Raises SandboxError.

    `pid_file` is where podman shall write the host's number of the container's first process.
    """
    user = f"{box.identity.uid}:{box.identity.gid}"
    return [
        *("create", "--pull", "never", "--interactive", "--name", name, "--hostname", "sandbox"),
        *_flat(("--label", f"{key}={value}") for key, value in box.labels.items()),
        *("--network", "none", "--ipc", "private", "--cgroupns", "private"),
        *("--user", user, "--cap-drop", "ALL", "--read-only"),
        *("--security-opt", "no-new-privileges", "--security-opt", f"seccomp={box.seccomp}"),
        *(("--security-opt", "label=disable") if engine.selinux else ()),
        *("--log-driver", "none", "--no-healthcheck", "--workdir", "/work"),
        *_limits(engine, box),
        *_dialect(engine, box),
        *(("--pidfile", os.fspath(pid_file)) if pid_file is not None else ()),
        *("--shm-size", str(box.tmpfs_bytes)),
        *_home(engine, box),
        *_flat(("--mount", _bind(mount, engine)) for mount in _mounts(box)),
        *("--entrypoint", "/usr/bin/env", box.image.id, "-i"),
        *(f"{key}={value}" for key, value in box.environment.items()),
        *(
            "/bin/sh",
            "-c",
            GATE if box.egress is None else EGRESS_GATE,
            "sh",
            command,
            "idle" if box.yield_processor else "",
        ),
    ]


def _limits(engine: Engine, box: Box) -> Iterable[str]:
    yield from _flat(("--ulimit", f"{key}={value}:{value}") for key, value in box.ulimits.items())
    if not engine.cgroup:
        return
    processors = _PROCESSOR_SHARE * (os.cpu_count() or 1)
    memory = str(box.memory_bytes)
    yield from ("--memory", memory, "--memory-swap", memory, "--cpus", f"{processors:.2f}")
    yield from ("--pids-limit", str(box.processes + _OWN_PROCESSES), "--oom-score-adj", "1000")
    if box.yield_processor:
        yield from ("--cpu-shares", _LEAST_SHARES)


def _dialect(engine: Engine, box: Box) -> Iterable[str]:
    """Take away what only one of the two would add by itself."""
    if not engine.is_podman:
        yield from ("--userns", "host")
        # Docker makes a volume for each that the image declares, and volumes have no size.
        yield from _flat(("--tmpfs", _tmpfs(engine, path, _VOLUME_BYTES)) for path in box.image.volumes)
        return
    yield from ("--userns", "keep-id" if engine.rootless else "host")
    yield from ("--read-only-tmpfs=false", "--image-volume", "ignore", "--systemd", "false")
    yield from ("--http-proxy=false", "--no-hosts", "--security-opt", "mask=/sys")


def _home(engine: Engine, box: Box) -> Iterable[str]:
    """Make a home in memory, unless the policy shows a directory in its place."""
    if PurePosixPath(HOME) not in {mount.target for mount in box.mounts}:
        yield from ("--tmpfs", _tmpfs(engine, HOME, box.tmpfs_bytes))


def _mounts(box: Box) -> Iterable[Mount]:
    yield Mount(box.work, PurePosixPath(WORK), writable=True)
    for target in (TEMPORARY, "/var/tmp"):
        yield Mount(box.scratch, PurePosixPath(target), writable=True)
    for target, source in box.files.items():
        yield Mount(source, PurePosixPath(target))
    yield from box.mounts
    if box.egress is not None:
        yield Mount(box.egress, PurePosixPath(EGRESS_SOCKET))


def _tmpfs(engine: Engine, path: str, size: int) -> str:
    """Write a file system in memory.

    Podman would copy into it what the image has there, and its mode; docker would let nothing in it be run.
    """
    own = "notmpcopyup" if engine.is_podman else "exec"
    return f"{path}:rw,nosuid,nodev,mode=1777,size={size},{own}"


def _bind(mount: Mount, engine: Engine) -> str:
    """Write a mount, without what other file systems are mounted below it; docker has no words for more."""
    for text in (os.fspath(mount.source), os.fspath(mount.target)):
        if _NOT_IN_A_MOUNT & set(text):
            raise SandboxError(f"{text!r} cannot be mounted: its name has a comma, a quote or a line break")
    options = [] if mount.writable else ["readonly"]
    options += ["bind-nonrecursive", "nosuid", "nodev"] if engine.is_podman else []
    return ",".join(["type=bind", f"source={mount.source}", f"target={mount.target}", *options])


def _flat(groups: Iterable[tuple[str, ...]]) -> Iterable[str]:
    return (item for group in groups for item in group)
