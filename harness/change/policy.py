"""Judges a change by its list of files, before any commit: protected paths, links, modes, sizes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from domain.model import Finding, Severity
from harness.change import names
from harness.change.model import ABSENT, EXECUTABLE, GITLINK, REGULAR, SYMLINK, FileChange
from harness.change.protected import DEFAULT_PROTECTED, covering

PROTECTED_RULE = "CHANGE-PROTECTED"
GITLINK_RULE = "CHANGE-GITLINK"
SYMLINK_RULE = "CHANGE-SYMLINK"
MODE_RULE = "CHANGE-MODE"
FILTER_RULE = "CHANGE-FILTERED"
BINARY_RULE = "CHANGE-BINARY"
LARGE_RULE = "CHANGE-LARGE"
NAME_RULE = "CHANGE-NAME"

LARGE_BYTES = 2**20

_MODES = frozenset({REGULAR, EXECUTABLE, SYMLINK, GITLINK, ABSENT})


def check_change(changes: Sequence[FileChange], protected: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return what a change breaks. Critical findings refuse it; warnings are shown beside it.

    `protected` holds the repository's own patterns; the defaults always apply as well.
    """
    guarded = (*DEFAULT_PROTECTED, *protected)
    return tuple(finding for change in changes for finding in _check(change, guarded))


def _check(change: FileChange, guarded: Sequence[str]) -> Iterator[Finding]:
    yield from _protected(change, guarded)
    yield from _gitlink(change)
    yield from _symlink(change)
    yield from _mode(change)
    yield from _name(change)
    yield from _content(change)


def _protected(change: FileChange, guarded: Sequence[str]) -> Iterator[Finding]:
    pattern = covering(change, guarded)
    if pattern:
        yield _critical(
            PROTECTED_RULE, change, "protected path changed", f"`{pattern}` is changed by people only"
        )


def _gitlink(change: FileChange) -> Iterator[Finding]:
    if GITLINK in {change.old_mode, change.new_mode}:
        why = "submodules are added, moved and removed by people only"
        yield _critical(GITLINK_RULE, change, "submodule changed", why)


def _symlink(change: FileChange) -> Iterator[Finding]:
    if change.new_mode != SYMLINK:
        return
    if not names.points_inside(change.path, change.target):
        yield _critical(
            SYMLINK_RULE, change, "symlink out of the repository", "it must be relative and stay inside"
        )
    else:
        what = f"symlink to {_shown(change.target)}"
        yield _finding(
            SYMLINK_RULE, change, what, "a link can make one path stand for another", Severity.WARNING
        )


def _mode(change: FileChange) -> Iterator[Finding]:
    if change.new_mode not in _MODES:
        yield _critical(
            MODE_RULE, change, f"mode {change.new_mode}", "git knows plain and executable files only"
        )
    elif change.status == "T":
        yield _finding(MODE_RULE, change, "type changed", _modes(change), Severity.WARNING)
    elif change.status == "M" and change.old_mode != change.new_mode:
        yield _finding(MODE_RULE, change, "executable bit changed", _modes(change), Severity.WARNING)
    elif change.status == "A" and change.new_mode == EXECUTABLE:
        yield _finding(MODE_RULE, change, "new executable file", _modes(change), Severity.WARNING)


def _modes(change: FileChange) -> str:
    return f"mode {change.old_mode} became {change.new_mode}"


def _name(change: FileChange) -> Iterator[Finding]:
    if change.status == "D":
        return
    if any(names.is_git_directory(step) for step in change.path.split("/")):
        yield _critical(
            NAME_RULE, change, "name that means .git", "some systems would take it for a repository"
        )
    is_odd = any(
        ord(letter) < 32 or ord(letter) == 127 or "\udc80" <= letter <= "\udcff" for letter in change.path
    )
    if is_odd and change.status == "A":
        yield _critical(NAME_RULE, change, "unreadable file name", "control characters, or not UTF-8")


def _content(change: FileChange) -> Iterator[Finding]:
    if change.filter and change.old_sha != change.new_sha:
        why = (
            f"`filter={change.filter}` (Git LFS or its like) is not run here: the stored form would be wrong"
        )
        yield _critical(FILTER_RULE, change, "filtered file changed", why)
    if change.status == "D":
        return
    if change.binary:
        yield _finding(
            BINARY_RULE, change, "binary file", "its change cannot be read in review", Severity.WARNING
        )
    if change.size > LARGE_BYTES:
        yield _finding(LARGE_RULE, change, f"{change.size} bytes", "large for a fix", Severity.WARNING)


def _critical(rule: str, change: FileChange, what: str, why: str) -> Finding:
    return _finding(rule, change, what, why, Severity.CRITICAL)


def _finding(rule: str, change: FileChange, what: str, why: str, severity: Severity) -> Finding:
    return Finding(rule=rule, path=_shown(change.path), line=0, what=what, why=why, severity=severity)


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()[:300]
