"""Patches on trees: what a patch makes of one, without a worktree, whoever wrote it and however."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from domain.errors import GitError
from harness.git.runner import Limits

if TYPE_CHECKING:
    from harness.git.mirror import Mirror

LARGEST_PATCH = 32 * 2**20
"""Bytes of a patch that is read."""

REVERSE = "-R"
LOOSE = "--unidiff-zero"
"""A hunk may begin or end without context anywhere, not at the file's beginning and end alone."""

_HEADERS = re.compile(
    rb"^(?:--- (?P<old>[^\t\r\n]+).*\n\+\+\+ (?P<new>[^\t\r\n]+)|diff --git (?P<both>.+))", re.MULTILINE
)
_PREFIXED = re.compile(rb"\"?[abciwo12]/")
_MISCOUNTED = "corrupt patch"
_FROM = re.compile(rb"^(?:rename|copy) from (.+?)\r?$", re.MULTILINE)
_LIMITS = Limits(seconds=120)


@dataclass(frozen=True, slots=True)
class Patched:
    """The tree before a patch, the one after it, and every path that the patch names."""

    base_tree: str
    tree: str
    paths: tuple[str, ...]


def patched(mirror: Mirror, patch: bytes, base_of: Callable[[Sequence[str]], str], *options: str) -> Patched:
    """Apply a patch as a whole or not at all; the context of each hunk must be there, if on other lines.

    `base_of` returns the tree to start from, given the paths that matter; `options` are REVERSE and LOOSE.
    Raises GitError, in git's words.
    """
    if len(patch) > LARGEST_PATCH:
        raise GitError(f"the patch has {len(patch)} bytes, more than the {LARGEST_PATCH} that are read")
    reading = _reading(patch)
    try:
        return _patched(mirror, patch, base_of, [*reading, *options])
    except GitError as error:
        if _MISCOUNTED not in str(error):
            raise
        try:
            return _patched(mirror, patch, base_of, [*reading, *options, "--recount"])
        except GitError:
            raise error from None


def _reading(patch: bytes) -> list[str]:
    """Tell how a patch is meant: with a/ and b/ before its paths or without, with lines of context or not."""
    header = _HEADERS.search(patch)
    reading = ["-p1"]
    if header is not None and header["both"] is None:
        names = [name for name in (header["old"], header["new"]) if name != b"/dev/null"]
        plain = names[0] == names[-1] if len(names) == 2 else not _PREFIXED.match(names[0] if names else b"")
        reading = ["-p0"] if plain else reading
    elif header is not None and not _PREFIXED.match(header["both"]):
        half = len(header["both"]) // 2
        reading = ["-p0"] if header["both"][:half] == header["both"][half + 1 :] else reading
    lines = patch.split(b"\n")
    if any(line.startswith(b"@@") for line in lines) and not any(line.startswith(b" ") for line in lines):
        reading.append(LOOSE)
    return reading


def _patched(
    mirror: Mirror, patch: bytes, base_of: Callable[[Sequence[str]], str], reading: Sequence[str]
) -> Patched:
    paths = touched_paths(mirror, patch, reading)
    base = base_of(paths)
    return Patched(base, _applied(mirror, patch, base, reading), paths)


def touched_paths(mirror: Mirror, patch: bytes, reading: Sequence[str]) -> tuple[str, ...]:
    """Return every path that a patch names, sorted. Raises GitError where it is none."""
    with mirror.throwaway() as place:
        told = mirror.runner.run(
            place,
            "apply",
            "--numstat",
            "-z",
            "--whitespace=nowarn",
            *reading,
            "-",
            stdin=patch,
            limits=_LIMITS,
        )
    named = {
        os.fsdecode(record.split(b"\t", 2)[2]) for record in told.split(b"\0") if record.count(b"\t") >= 2
    }
    return tuple(sorted(named | {os.fsdecode(path) for path in _sources(patch)}))


def _sources(patch: bytes) -> Iterator[bytes]:
    for name in _FROM.findall(patch):
        if not name.startswith(b'"'):
            yield name
            continue
        try:
            unquoted = ast.literal_eval("b" + name.decode("ascii"))
        except (ValueError, SyntaxError):
            continue  # no name that git would have written: it is not found, and git says so
        if isinstance(unquoted, bytes):
            yield unquoted


def _applied(mirror: Mirror, patch: bytes, base: str, reading: Sequence[str]) -> str:
    with mirror.throwaway() as place:
        run = mirror.runner.run
        run(place, "read-tree", "--", base)
        run(place, "apply", "--cached", "--whitespace=nowarn", *reading, "-", stdin=patch, limits=_LIMITS)
        return run(place, "write-tree").decode().strip()
