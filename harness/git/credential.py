"""How a credential reaches git: a helper that reads an inherited memory file, never argv, env or disk."""

from __future__ import annotations

import fcntl
import os
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import GitError
from domain.model import CloneAccess


def check_access(access: CloneAccess, protocols: frozenset[str]) -> None:
    """Refuse a way to a remote that is not allowed, or that would show a credential. Raises GitError."""
    if access.protocol not in protocols:
        raise GitError(f"remote protocol {access.protocol!r} is not allowed; allowed: {sorted(protocols)}")
    if not access.url.startswith(f"{access.protocol}://"):
        raise GitError(f"the remote's address must begin with {access.protocol}://")
    if any(ord(character) < 33 or ord(character) == 127 for character in access.url):
        raise GitError("the remote's address contains white space or control characters")
    if "@" in urllib.parse.urlsplit(access.url).netloc:
        raise GitError("the remote's address must not carry a user name or password")
    if any(character in access.username + access.secret for character in "\n\r\0"):
        raise GitError("the remote's credential contains a line break")


@contextmanager
def offered(access: CloneAccess | None) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the settings and the file descriptors that let git, and only for this origin, ask for the secret.

    The helper opens the descriptor anew each time, so that a second question gets the same answer.
    """
    if access is None or not access.secret or access.protocol == "file":
        yield [], ()
        return
    descriptor = _sealed(f"username={access.username}\npassword={access.secret}\n".encode())
    parts = urllib.parse.urlsplit(access.url)
    origin = f"{parts.scheme}://{parts.netloc}"
    helper = f'!f() {{ test "$1" = get && cat /proc/self/fd/{descriptor}; }}; f'
    try:
        yield [f"credential.{origin}.helper={helper}"], (descriptor,)
    finally:
        os.close(descriptor)


def _sealed(content: bytes) -> int:
    """Return a descriptor of a memory file that nobody can change any more."""
    descriptor = os.memfd_create("credential", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.write(descriptor, content)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
