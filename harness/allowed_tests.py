"""Which old tests bind a change no more, since a maintainer allowed what the guard found in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from domain.model import Finding
from harness.guard.tolerance import EditedTest
from harness.testing.compare import identity_of, same_file

_GONE, _WEAKER = "RH001", "RH002"
_NAMED = re.compile(r"`([^`]+)`")
_JOINT = re.compile(r" [›>] |::|#| ")
"""What stands between a test's suites and its name; runners differ in it."""
_FILE_IS_GONE = "the test file is deleted"


def still_binding(
    entries: Iterable[str], findings: Iterable[Finding], edits: Collection[EditedTest] = ()
) -> tuple[str, ...]:
    """Return the entries of `broken` about original tests that no allowed finding speaks of.

    A test whose weakening or removal is allowed need not pass as it was; every other one must. `edits` are
    those that are allowed.
    """
    allowed = [each for each in findings if each.allowed_by and each.rule in {_GONE, _WEAKER}]
    return tuple(
        entry for entry in entries if not _is_spoken_of(entry, allowed) and not _was_edited(entry, edits)
    )


def still_missed(
    entries: Iterable[str],
    findings: Iterable[Finding],
    failed: Iterable[str],
    edits: Collection[EditedTest] = (),
) -> tuple[str, ...]:
    """Return the entries of `broken` on the changed tree but for those whose test may be gone or skipped.

    One that is there and fails is never excused. Of a test that was edited, single cases may be gone, and its
    old name where it has a new one.
    """
    allowed = [each for each in findings if each.allowed_by and each.rule == _GONE]
    renamed = [edit for edit in edits if edit.was != edit.now]
    red = set(failed)

    def binds(entry: str) -> bool:
        if identity_of(entry) in red:
            return True
        is_case = "[" in identity_of(entry).partition("::")[2]
        own = (edits if is_case else renamed) if entry.endswith(" (gone)") else ()
        return not _is_spoken_of(entry, allowed) and not _was_edited(entry, own)

    return tuple(entry for entry in entries if binds(entry))


def _was_edited(entry: str, edits: Iterable[EditedTest]) -> bool:
    file, _, reported = identity_of(entry).partition("::")
    return any(same_file(edit.was[0], file) and _is_called(edit.was[1], reported) for edit in edits)


def _is_spoken_of(entry: str, findings: Iterable[Finding]) -> bool:
    file, _, reported = identity_of(entry).partition("::")
    return any(same_file(finding.path, file) and _speaks_of(finding, reported) for finding in findings)


def _speaks_of(finding: Finding, reported: str) -> bool:
    """Tell whether a finding names this test, as its runner calls it: parameters and suites apart."""
    if finding.what.startswith(_FILE_IS_GONE):
        return True
    subject = _NAMED.search(finding.what)
    return subject is not None and _is_called(subject[1], reported)


def _is_called(test: str, reported: str) -> bool:
    name, full = (_JOINT.sub(".", text.partition("[")[0]) for text in (test, reported))
    return bool(name) and (full == name or full.endswith((f".{name}", f"/{name}")))
