"""What of the host a container is shown besides the worktree: some files of ours, never an engine's door."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.environment import ACCOUNT_FILES, USER_ID
from harness.sandbox.identity import Identity

_ENGINE_DOORS = tuple(
    Path(name)
    for name in ("/run/docker.sock", "/run/docker", "/run/podman", "/run/containerd", "/run/user", "/var/run")
)
_ENGINE_SOCKETS = ("docker.sock", "podman.sock", "containerd.sock", "crio.sock")


def write_account_files(state: Path, identity: Identity) -> Mapping[str, Path]:
    """Write the user data base that containers are shown; return guest path → file. Raises OSError."""
    contents = dict(ACCOUNT_FILES)
    passwd, group = contents["/etc/passwd"], contents["/etc/group"]
    contents["/etc/passwd"] = passwd.replace(f":{USER_ID}:{USER_ID}:", f":{identity.uid}:{identity.gid}:")
    contents["/etc/group"] = group.replace(f":{USER_ID}:", f":{identity.gid}:")
    return {guest: write_shown(state / Path(guest).name, text) for guest, text in contents.items()}


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


def write_shown(file: Path, text: str) -> Path:
    """Write a file that all may read, unless it is there already with just this content. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    if not file.is_file() or file.read_text() != text:
        new = file.with_name(f".{file.name}.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o444)
        new.replace(file)
    return file.absolute()
