"""Which old tests bind a change no more, since a maintainer allowed what the guard found in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from domain.model import Finding
from harness.testing.compare import identity_of, same_file

_GONE, _WEAKER = "RH001", "RH002"
_NAMED = re.compile(r"`([^`]+)`")
_FILE_IS_GONE = "the test file is deleted"


def still_binding(entries: Iterable[str], findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the entries of `broken` about original tests that no allowed finding speaks of.

    A test whose weakening or removal is allowed need not pass as it was; every other one must.
    """
    allowed = [each for each in findings if each.allowed_by and each.rule in {_GONE, _WEAKER}]
    return tuple(entry for entry in entries if not _is_spoken_of(entry, allowed))


def still_missed(
    entries: Iterable[str], findings: Iterable[Finding], failed: Iterable[str]
) -> tuple[str, ...]:
    """Return the entries of `broken` on the changed tree but for those whose test may be gone or skipped.

    One that is there and fails is never excused.
    """
    allowed = [each for each in findings if each.allowed_by and each.rule == _GONE]
    red = set(failed)
    return tuple(entry for entry in entries if identity_of(entry) in red or not _is_spoken_of(entry, allowed))


def _is_spoken_of(entry: str, findings: Iterable[Finding]) -> bool:
    file, _, reported = identity_of(entry).partition("::")
    return any(same_file(finding.path, file) and _speaks_of(finding, reported) for finding in findings)


def _speaks_of(finding: Finding, reported: str) -> bool:
    """Tell whether a finding names this test, as its runner calls it: parameters and suites apart."""
    if finding.what.startswith(_FILE_IS_GONE):
        return True
    subject = _NAMED.search(finding.what)
    if subject is None:
        return False
    name, full = (text.partition("[")[0].replace("::", ".") for text in (subject[1], reported))
    return bool(name) and (full == name or full.endswith((f".{name}", f" {name}", f"/{name}")))
