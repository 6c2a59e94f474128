"""Which git there is, found as it is found for every call."""

from __future__ import annotations

import re
import shutil
import subprocess

from domain.errors import GitError
from harness.git.environment import SEARCH_PATH

OLDEST = (2, 38)
"""The first that merges without a worktree (`merge-tree --write-tree`)."""

_VERSION = re.compile(r"git version (\d+)\.(\d+)(?:\.(\d+))?")


def git_version() -> tuple[int, ...]:
    """Return git's version, such as (2, 39, 5). Raises GitError where there is none that answers."""
    program = shutil.which("git", path=SEARCH_PATH)
    if program is None:
        raise GitError(f"there is no git in {SEARCH_PATH}")
    try:
        done = subprocess.run(
            [program, "version"],
            env={"PATH": SEARCH_PATH, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"{program} does not answer ({type(error).__name__})") from None
    found = _VERSION.match(done.stdout)
    if found is None:
        raise GitError(f"{program} does not tell its version")
    return tuple(int(part) for part in found.groups() if part)
