"""The sandbox's profile as bubblewrap arguments: pure, so that it can be read and tested as a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.egress import RELAY_START, RELAY_STOP
from harness.sandbox.environment import USER_ID
from harness.sandbox.mounts import Mount
from harness.sandbox.places import EGRESS_SOCKET, HOME

SHELL_READY = b"\x06"
"""What the inner gate prints first. Anything before it was said by the set-up, not by a command."""

_WAIT = """\
printf '\\006'
read -r go || exit 125
"""
_RUN = """\
/bin/bash --noprofile --norc -c "$1" </dev/null
status=$?
"""
_TELL = """\
left= count=0
for process in /proc/[0-9]*; do
  [ "$process" = /proc/1 ] || [ "$process" = "/proc/$$" ] && continue
  read -r name <"$process/comm" || continue
  count=$((count + 1))
  [ $count -le 5 ] && left="$left $name"
done 2>/dev/null
[ -n "$left" ] && printf '\\n[%s left in the background, ended with this command:%s. %s]\\n' \\
  "$count" "$left" "Start a server and use it in one and the same command."
exit $status
"""
INNER_GATE = _WAIT + _RUN + _TELL
"""Waits for leave to start, so that a command never runs unwatched; then names what it left behind.

End of file instead of leave means that the worker died: then nothing is started at all.
"""
EGRESS_GATE = _WAIT + RELAY_START + _RUN + RELAY_STOP + _TELL
"""The same, with a relay to the proxy beside the command. `profile.egress` demands it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a session's commands see. Paths are host paths, `tmpfs_bytes` the size of home and of /dev/shm.

    `egress` is the socket of a proxy; without one, nothing in the sandbox shows that there could be one.
    """

    work: Path
    scratch: Path
    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    tmpfs_bytes: int
    egress: Path | None = None


def bubblewrap_arguments(
    profile: Profile, *, seccomp_fd: int, info_fd: int, files: Mapping[str, int]
) -> list[str]:
    """Return bubblewrap's options. `files` maps a guest path to the descriptor that holds its content."""
    size = str(profile.tmpfs_bytes)
    return [
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
        *("--clearenv", "--cap-drop", "ALL", "--hostname", "sandbox"),
        *("--uid", str(USER_ID), "--gid", str(USER_ID)),
        *_system_directories(),
        *("--dir", "/etc", "--dir", "/run", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"),
        *("--symlink", "/usr/lib/os-release", "/etc/os-release", "--symlink", "/proc/mounts", "/etc/mtab"),
        *_flat(("--perms", "0444", "--file", str(fd), path) for path, fd in files.items()),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", size, "--tmpfs", "/dev/shm"),
        *("--perms", "0700", "--size", size, "--tmpfs", HOME),
        *("--bind", str(profile.work), "/work", "--bind", str(profile.scratch), "/tmp"),
        *_flat((_bind(mount), str(mount.source), str(mount.target)) for mount in profile.mounts),
        *(("--ro-bind", str(profile.egress), EGRESS_SOCKET) if profile.egress else ()),
        *_flat(("--setenv", name, value) for name, value in profile.environment.items()),
        *("--seccomp", str(seccomp_fd), "--info-fd", str(info_fd), "--chdir", "/work"),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
    ]


def _system_directories() -> Iterable[str]:
    """Show /usr, and /bin and its like as on this host: links into /usr, or directories of their own."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        path = Path(name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)


def _bind(mount: Mount) -> str:
    return "--bind" if mount.writable else "--ro-bind"


def _flat(groups: Iterable[tuple[str, ...]]) -> Iterable[str]:
    return (item for group in groups for item in group)
