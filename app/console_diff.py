"""A difference as lines with numbers, and the guard's findings at the lines that they are about. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from domain.model import Finding

MOST_LINES = 4000
"""Lines that a page shows; more is said to be left out."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line. `kind`: added, removed, same, hunk or note; numbers are None where it has none."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def found(self) -> int:
        """How many findings are about it."""
        return len(self.findings)

    @property
    def sign(self) -> str:
        """What stands before the line."""
        return {"added": "+", "removed": "-"}.get(self.kind, " ")


@dataclass(slots=True, kw_only=True)
class DiffFile:
    """One file's changes; `findings` are those about the file that are at none of the lines shown."""

    path: str
    lines: list[DiffLine] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffView:
    """A whole difference. `elsewhere` are findings about files that it does not show."""

    files: tuple[DiffFile, ...]
    elsewhere: tuple[Finding, ...] = ()
    left_out: int = 0


def read_diff(patch: str, findings: Sequence[Finding] = ()) -> DiffView:
    """Return git's unified difference in parts; text that is none gives no files."""
    lines = patch.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    files = _files(lines[:MOST_LINES])
    shown = tuple(_with_findings(file, findings) for file in files)
    paths = {file.path for file in shown}
    return DiffView(
        files=shown,
        elsewhere=tuple(finding for finding in findings if finding.path not in paths),
        left_out=max(0, len(lines) - MOST_LINES),
    )


def _files(lines: Iterable[str]) -> list[DiffFile]:
    files: list[DiffFile] = []
    old = new = 0
    in_hunk = False
    for line in lines:
        if line.startswith("diff --git "):
            files.append(DiffFile(path=_path_of(line)))
            in_hunk = False
        elif not files:
            continue
        elif (match := _HUNK.match(line)) is not None:
            old, new, in_hunk = int(match[1]), int(match[2]), True
            files[-1].lines.append(DiffLine(kind="hunk", text=line))
        elif not in_hunk:
            _header(files[-1], line)
        else:
            old, new = _body(files[-1], line, old, new)
    return files


def _header(file: DiffFile, line: str) -> None:
    if line.startswith("+++ ") and line != "+++ /dev/null":
        file.path = _unquoted(line[4:]).removeprefix("b/")
    elif line.startswith(("new file", "deleted file", "rename ", "Binary ", "old mode", "new mode")):
        file.lines.append(DiffLine(kind="note", text=line))


def _body(file: DiffFile, line: str, old: int, new: int) -> tuple[int, int]:
    sign, text = line[:1], line[1:]
    if sign == "+":
        file.lines.append(DiffLine(kind="added", text=text, new=new))
        file.added += 1
        return old, new + 1
    if sign == "-":
        file.lines.append(DiffLine(kind="removed", text=text, old=old))
        file.removed += 1
        return old + 1, new
    if sign == "\\":
        file.lines.append(DiffLine(kind="note", text=line))
        return old, new
    file.lines.append(DiffLine(kind="same", text=text, old=old, new=new))
    return old + 1, new + 1


def _with_findings(file: DiffFile, findings: Sequence[Finding]) -> DiffFile:
    own = [finding for finding in findings if finding.path == file.path]
    placed: set[int] = set()
    lines = []
    for line in file.lines:
        here = tuple(each for each in own if each.line and each.line == line.new and id(each) not in placed)
        placed.update(map(id, here))
        lines.append(
            line
            if not here
            else DiffLine(kind=line.kind, text=line.text, old=line.old, new=line.new, findings=here)
        )
    file.lines = lines
    file.findings = tuple(each for each in own if id(each) not in placed)
    return file


def _path_of(line: str) -> str:
    """Return the path of a file's first line, as far as it can be told: git writes both sides the same."""
    rest = line.removeprefix("diff --git ")
    if rest.startswith('"'):
        return _unquoted(rest[: rest.find('" ') + 1] or rest).removeprefix("a/")
    half = len(rest) // 2
    return rest[:half].removeprefix("a/")


def _unquoted(path: str) -> str:
    """Return a path that git has quoted as it is; anything that cannot be read stays."""
    path = path.rstrip("\t")
    if len(path) < 2 or not (path.startswith('"') and path.endswith('"')):
        return path
    try:
        return (
            path[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
        )
    except (UnicodeError, ValueError):
        return path
