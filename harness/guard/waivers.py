"""Findings by id: how a maintainer says that one of them may pass, and what is left when it does."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from domain.allowing import Allowance, is_allowable
from domain.model import Finding, Severity
from harness.guard.change import Change

LENGTH = 16
"""Hexadecimal digits after the rule, as in `RH001-3f2a9c0d1e5b7788`."""
_GONE = ("is removed", "as the issue asks")
"""What is not there any more has no code of its own; its name says all."""
MOST_LINES = 200
"""Lines of a block that an id speaks for."""


def with_ids(change: Change, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give each finding its id: from its rule, its path, what it says, and the code that it says it of.

    Neither line numbers nor layout count, so that the same objection keeps its id while lines move around it.
    Another piece of code never has the id of one that was waived.
    """
    seen: Counter[str] = Counter()
    return tuple(_with_id(change, finding, seen) for finding in findings)


def waived(findings: Iterable[Finding], words: Iterable[Allowance]) -> tuple[Finding, ...]:
    """Make warnings of those critical findings that a maintainer has allowed, by id; keep all others."""
    allowed = {word.change.lower(): word.by.login for word in words}
    return tuple(_allowed(finding, allowed.get(finding.id.lower())) for finding in findings)


def _allowed(finding: Finding, by: str | None) -> Finding:
    if by is None or finding.severity is not Severity.CRITICAL or not is_allowable(finding):
        return finding
    return replace(finding, severity=Severity.WARNING, allowed_by=by or "a maintainer")


def _with_id(change: Change, finding: Finding, seen: Counter[str]) -> Finding:
    what = re.sub(r"\s+", " ", finding.what)
    said = "\0".join((finding.rule, finding.path, what, *_code(change, finding)))
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
    seen[digest] += 1
    if seen[digest] > 1:
        digest = hashlib.sha256(f"{digest} {seen[digest]}".encode()).hexdigest()
    return replace(finding, id=f"{finding.rule}-{digest[:LENGTH]}")


def _code(change: Change, finding: Finding) -> Iterator[str]:
    """Yield what a finding is about: a block of the new file, or all of it where it names no line."""
    delta = change.deltas.get(finding.path)
    if delta is None or finding.what.endswith(_GONE):
        return
    if delta.new is None or finding.line <= 0:
        yield hashlib.sha256(b"".join((delta.new or b"").split())).hexdigest()
        return
    lines = delta.new_text.splitlines()
    yield from _block(lines, finding.line - 1)


def _block(lines: list[str], start: int) -> Iterator[str]:
    """Yield a line and those below it that are further in, without layout."""
    if start >= len(lines):
        return
    depth = _depth(lines[start])
    yield " ".join(lines[start].split())
    for line in lines[start + 1 : start + MOST_LINES]:
        if line.strip() and _depth(line) <= depth:
            return
        if line.strip():
            yield " ".join(line.split())


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
