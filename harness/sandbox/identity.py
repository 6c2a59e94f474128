"""Decides as which user commands run, and finds out what that user can reach on the host."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.capabilities import missing_capabilities


@dataclass(frozen=True, slots=True)
class Identity:
    """The user outside the sandbox. `separate` means that it is not the user of this process."""

    uid: int
    gid: int
    separate: bool


def settle_identity(uid: int | None) -> Identity:
    """Return whom to run as: the given uid where we may become another user, ourselves where we may not.

    Raises SandboxError when that would be root, or another user that we cannot become: as uid 0 the kernel
    ignores process limits and gives the host's files away.
    """
    own = os.geteuid()
    missing = missing_capabilities()
    if own == 0 and not uid and missing:
        raise SandboxError(
            f"commands would run as root: without {', '.join(missing)} this process cannot give them another "
            "user; give it these capabilities, or start the worker as an ordinary user"
        )
    if own == 0 and not uid:
        raise SandboxError(
            "commands would run as root: give the sandbox a user id of its own that is not 0, "
            "or start the worker as an ordinary user"
        )
    if missing and uid not in (None, own):
        raise SandboxError(
            f"cannot become user id {uid} without {', '.join(missing)}: start the worker as root, with these "
            "capabilities, or as that user"
        )
    if uid is None or uid == own:
        return Identity(uid=own, gid=os.getegid(), separate=False)
    return Identity(uid=uid, gid=_group_of(uid), separate=True)


def require_reachable(path: Path, identity: Identity, *, purpose: str, writable: bool = False) -> None:
    """Check that the user can get to `path`, and read it (and write it, on demand).

    Only the permission bits are looked at. Raises SandboxError naming the first obstacle and the way out.
    """
    for part in (*reversed(path.parents), path):
        last = part == path
        wanted = (stat.S_IROTH | stat.S_IXOTH) if last else stat.S_IXOTH
        if last and writable:
            wanted |= stat.S_IWOTH
        try:
            found = part.stat()
        except OSError as error:
            raise SandboxError(f"{purpose} {path} cannot be used: {part}: {error.strerror}") from error
        if last and not stat.S_ISDIR(found.st_mode):
            raise SandboxError(f"{purpose} {path} cannot be used: it is not a directory")
        if _bits_for(found, identity) & wanted != wanted:
            obstacle = f"{part} has mode {stat.S_IMODE(found.st_mode):04o} and owner {found.st_uid}"
            remedy = f"chown -R {identity.uid} {path}" if last and writable else f"chmod o+x {part}"
            raise SandboxError(
                f"{purpose} {path} cannot be used by user id {identity.uid}: {obstacle}; "
                f"move it to a place that this user can reach, or allow it with: {remedy}"
            )


def _bits_for(found: os.stat_result, identity: Identity) -> int:
    """Return the permission bits that apply to the user, moved to the place of "others"."""
    if found.st_uid == identity.uid:
        return found.st_mode >> 6
    if found.st_gid == identity.gid:
        return found.st_mode >> 3
    return found.st_mode


def _group_of(uid: int) -> int:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return uid
