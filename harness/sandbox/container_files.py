"""What of the host a container is shown besides the worktree: some files of ours, never an engine's door."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.egress import relay_files
from harness.sandbox.environment import ACCOUNT_FILES, USER_ID
from harness.sandbox.identity import Identity
from harness.sandbox.mountpoints import Point

_ENGINE_DOORS = tuple(
    Path(name)
    for name in ("/run/docker.sock", "/run/docker", "/run/podman", "/run/containerd", "/run/user", "/var/run")
)
_ENGINE_SOCKETS = ("docker.sock", "podman.sock", "containerd.sock", "crio.sock")


def write_guest_files(state: Path, identity: Identity, *, relay: bool = False) -> Mapping[str, Path]:
    """Write the user data base that containers are shown, and on demand the relay to the proxy.

    Returns guest path → file. Raises OSError.
    """
    contents = {**ACCOUNT_FILES, **(relay_files() if relay else {})}
    passwd, group = contents["/etc/passwd"], contents["/etc/group"]
    contents["/etc/passwd"] = passwd.replace(f":{USER_ID}:{USER_ID}:", f":{identity.uid}:{identity.gid}:")
    contents["/etc/group"] = group.replace(f":{USER_ID}:", f":{identity.gid}:")
    return {guest: write_shown(state / Path(guest).name, text) for guest, text in contents.items()}


def make_mount_points(points: Iterable[Point], identity: Identity) -> None:
    """Make the places in the user's directories where something will be mounted, as the user's own.

    An engine would make them as root, and then the agent could not move what is around them. The way must be
    clear, and no command running. Raises SandboxError.
    """
    try:
        for point in points:
            last = point.root / point.relative
            for parent in reversed(point.relative.parents):
                _make(point.root / parent, identity, is_file=False)
            _make(last, identity, is_file=point.is_file)
    except OSError as error:
        raise SandboxError(f"a mount point cannot be made: {error}") from error


def _make(place: Path, identity: Identity, *, is_file: bool) -> None:
    if os.path.lexists(place):
        return
    if is_file:
        place.touch(0o644)
    else:
        place.mkdir(0o755)
    if identity.separate:
        os.chown(place, identity.uid, identity.gid, follow_symlinks=False)


def refuse_engine_doors(source: Path) -> None:
    """Refuse to show a directory or a socket by which an engine is commanded. Raises SandboxError."""
    real = source.resolve()
    for door in _ENGINE_DOORS:
        way = door.resolve()
        if real == way or way.is_relative_to(real) or real.is_relative_to(way):
            raise SandboxError(f"{source} is not shown in a container: an engine's socket can be in {door}")


def proxy_socket(egress: Path | None) -> Path | None:
    """Check the socket of the harness' own proxy. Raises SandboxError."""
    if egress is None:
        return None
    try:
        is_socket = stat.S_ISSOCK(egress.lstat().st_mode)
    except OSError as error:
        raise SandboxError(f"the proxy's socket {egress} cannot be used: {error.strerror}") from error
    if not is_socket:
        raise SandboxError(f"{egress} is not a socket")
    if egress.resolve().name in _ENGINE_SOCKETS:
        raise SandboxError(f"{egress} is an engine's socket; it is never shown in a container")
    return egress


def read_pid_file(file: Path | None) -> str:
    """Return what podman wrote there, and remove it; empty if there is nothing."""
    if file is None:
        return ""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
    finally:
        file.unlink(missing_ok=True)


def remove_pid_files(state: Path) -> None:
    """Remove what a worker left that was killed just then. Who still waits for one asks the engine."""
    for left in state.glob("fixwright-*.pid"):
        left.unlink(missing_ok=True)


def write_shown(file: Path, text: str) -> Path:
    """Write a file that all may read, unless it is there already with just this content. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    if not file.is_file() or file.read_text() != text:
        new = file.with_name(f".{file.name}.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o444)
        new.replace(file)
    return file.absolute()
