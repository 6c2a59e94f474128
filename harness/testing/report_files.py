"""Finding the reports that a run left below a checkout, without those that were there before it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from harness.testing.files import DEEPEST, read_at

MAX_FILES = 5_000
MAX_TOTAL = 64 * 2**20
_MOST_DIRECTORIES = 200_000
_NEVER = frozenset({".git", "node_modules", ".gradle"})


def find_reports(root: Path, patterns: Sequence[str], limit: int) -> dict[str, bytes]:
    """Return path → content of the regular files below `root` that fit a pattern, at most `limit` bytes each.

    No symlink is followed. What is beyond the limits of number and size is left out.
    """
    found: dict[str, bytes] = {}
    total = 0
    if not patterns:
        return found
    for count, (directory, names, files, descriptor) in enumerate(os.fwalk(root, follow_symlinks=False)):
        if count > _MOST_DIRECTORIES or len(found) >= MAX_FILES or total > MAX_TOTAL:
            break
        relative = PurePosixPath(Path(directory).relative_to(root).as_posix())
        is_deepest = len(relative.parts) >= DEEPEST  # tests may make any, to have the walk fail
        names[:] = [] if is_deepest else sorted(name for name in names if name not in _NEVER)
        for name in sorted(files):
            if any((relative / name).match(pattern) for pattern in patterns):
                content = read_at(descriptor, name, limit + 1)
                if content is not None:
                    found[str(relative / name)] = content
                    total += len(content)
    return found


def fingerprints(reports: Mapping[str, bytes]) -> dict[str, str]:
    """Return path → fingerprint."""
    return {path: hashlib.sha256(content).hexdigest() for path, content in reports.items()}


def new_reports(reports: Mapping[str, bytes], before: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the reports that were not there before in the same form, in order of their paths."""
    now = fingerprints(reports)
    return tuple(reports[path] for path in sorted(reports) if now[path] != before.get(path))
