"""What differs between two trees: changed files with what a policy needs, a patch, added lines."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from domain.errors import GitError
from harness.change.model import ABSENT, GITLINK, SYMLINK, AddedLine, FileChange
from harness.git.runner import GitRunner, Limits, Place
from harness.git.values import object_name

_PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_LONG = Limits(seconds=300, output=64 * 2**20)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TARGET_BYTES = 4096


def changes(git: GitRunner, place: Place, base_tree: str, tree: str) -> tuple[FileChange, ...]:
    """Return every path that differs. `place` has a throw-away index, used for attributes of the base."""
    listed = git.run(
        place,
        "diff-tree",
        "-r",
        "--raw",
        "--numstat",
        "-z",
        "--no-abbrev",
        *_PLAIN,
        object_name(base_tree),
        object_name(tree),
        limits=_LONG,
    )
    found = _parsed(os.fsdecode(listed).split("\0")[:-1])
    if not found:
        return ()
    filters = _filters(git, place, base_tree, [change.path for change in found])
    sizes = _sizes(git, place, [change.new_sha for change in found if _is_blob(change.new_mode)])
    return tuple(
        replace(
            change,
            size=sizes.get(change.new_sha, 0) if _is_blob(change.new_mode) else 0,
            filter=filters.get(change.path, ""),
            target=_target(git, place, change, sizes),
        )
        for change in found
    )


def _is_blob(mode: str) -> bool:
    return mode not in {ABSENT, GITLINK}


def _parsed(fields: Sequence[str]) -> list[FileChange]:
    """Read `--raw --numstat -z`: pairs of raw record and path, then one counted path each."""
    found: dict[str, FileChange] = {}
    rest = iter(fields)
    for record in rest:
        if record.startswith(":"):
            old_mode, new_mode, old_sha, new_sha, status = record[1:].split(" ")
            path = next(rest)
            found[path] = FileChange(
                path=path,
                status=status[0],
                old_mode=old_mode,
                new_mode=new_mode,
                old_sha=old_sha,
                new_sha=new_sha,
            )
            continue
        added, removed, path = record.split("\t", 2)
        binary = added == "-"
        found[path] = replace(
            found[path],
            binary=binary,
            lines_added=0 if binary else int(added),
            lines_removed=0 if binary else int(removed),
        )
    return list(found.values())


def _filters(git: GitRunner, place: Place, base_tree: str, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the `filter` attribute (Git LFS and its like) that the base gives to each path."""
    git.run(place, "read-tree", "--", object_name(base_tree))
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    told = git.run(place, "check-attr", "--cached", "-z", "--stdin", "filter", stdin=stdin, limits=_LONG)
    fields = os.fsdecode(told).split("\0")
    values = zip(fields[0::3], fields[2::3], strict=False)
    return {path: value for path, value in values if value not in {"unspecified", "unset"}}


def _sizes(git: GitRunner, place: Place, shas: Iterable[str]) -> dict[str, int]:
    names = "".join(sha + "\n" for sha in sorted(set(shas)))
    if not names:
        return {}
    told = git.run(
        place, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=names.encode(), limits=_LONG
    )
    pairs = (line.split() for line in told.decode().splitlines())
    return {sha: int(size) for sha, size in pairs}


def _target(git: GitRunner, place: Place, change: FileChange, sizes: Mapping[str, int]) -> str:
    if change.new_mode != SYMLINK or change.new_sha == change.old_sha:
        return ""
    if sizes.get(change.new_sha, 0) > _TARGET_BYTES:
        return "\0"  # longer than any path: no target that could be inside
    return os.fsdecode(git.run(place, "cat-file", "blob", change.new_sha))


def patch(git: GitRunner, place: Place, base_tree: str, tree: str, *, context: int, limit: int) -> str:
    """Return the difference as text for people, at most `limit` bytes and a note."""
    done = git.call(
        place,
        "diff-tree",
        "-r",
        "-p",
        f"--unified={context}",
        *_PLAIN,
        object_name(base_tree),
        object_name(tree),
        limits=Limits(seconds=300, output=limit, clip=True),
    )
    if done.code != 0 and not done.clipped:
        raise done.failure()
    text = done.output.decode("utf-8", "replace")
    return text + f"\n[… cut off after {limit} bytes …]\n" if done.clipped else text


def fingerprint(git: GitRunner, place: Place, base_tree: str, tree: str) -> str:
    """Return a name for what a change does, the same wherever it does it and on whatever base."""
    digest = hashlib.sha256()
    for change in changes(git, place, base_tree, tree):
        new = change.new_sha if change.binary else ""
        digest.update(os.fsencode(f"{change.path}\0{change.old_mode}\0{change.new_mode}\0{new}\n"))
    shown = git.run(
        place,
        "diff-tree",
        "-r",
        "-p",
        "--unified=0",
        *_PLAIN,
        object_name(base_tree),
        object_name(tree),
        limits=_LONG,
    )
    for line in shown.split(b"\n"):
        if not line.startswith((b"index ", b"@@ ")):
            digest.update(line + b"\n")
    return digest.hexdigest()


def added_lines(git: GitRunner, place: Place, base_tree: str, tree: str) -> tuple[AddedLine, ...]:
    """Return every added line; binary files are read as text, so that nothing can hide in one."""
    shown = git.run(
        place,
        "diff-tree",
        "-r",
        "-p",
        "--text",
        "--unified=0",
        *_PLAIN,
        object_name(base_tree),
        object_name(tree),
        limits=_LONG,
    )
    return tuple(_additions(iter(shown.split(b"\n"))))


def _additions(lines: Iterator[bytes]) -> Iterator[AddedLine]:
    """Read hunks by their counts: a line's content can look like a header but not change a count."""
    path = ""
    for line in lines:
        if line.startswith(b"+++ "):
            path = _path(line[4:])
            continue
        hunk = _HUNK.match(line)
        if hunk is None:
            continue
        removed, added = (1 if count is None else int(count) for count in (hunk[1], hunk[3]))
        number = int(hunk[2])
        while removed or added:
            body = next(lines, None)
            if body is None:
                raise GitError("git's patch ended in the middle of a hunk")
            if body.startswith(b"-"):
                removed -= 1
            elif body.startswith(b"+"):
                yield AddedLine(path, number, body[1:].decode("utf-8", "replace"))
                number += 1
                added -= 1


def _path(name: bytes) -> str:
    """Return the path of a `+++` line; unusual names stand there as a C string."""
    if name.startswith(b'"'):
        unquoted = ast.literal_eval("b" + name.decode("ascii"))
        name = unquoted if isinstance(unquoted, bytes) else b""
    return os.fsdecode(name.rstrip(b"\t").removeprefix(b"b/"))
