"""Makes the scratch directory of a session for the user that commands run as."""

from __future__ import annotations

import os
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.identity import Identity, require_reachable


def make_scratch(scratch: Path, identity: Identity) -> None:
    """Make the directory if it is missing, and give it to the user. Raises SandboxError."""
    if scratch.is_symlink():
        raise SandboxError(f"scratch directory {scratch} is a link; give a directory")
    try:
        scratch.mkdir(mode=0o700, exist_ok=True)
        if identity.separate:
            os.chown(scratch, identity.uid, identity.gid)
    except OSError as error:
        raise SandboxError(f"scratch directory {scratch} cannot be made: {error.strerror}") from error
    require_reachable(scratch, identity, purpose="scratch directory", writable=True)
