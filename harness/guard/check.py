"""All rules over one change, in order. Pure: the same change always gives the same findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from domain.model import Category, Finding, Severity
from harness.guard import (
    other_languages,
    rh001,
    rh002,
    rh003,
    rh004,
    rh005,
    rh006,
    rh007,
    rh008,
    rh009,
    rh010,
    rh011,
    rh012,
)
from harness.guard.change import Change
from harness.guard.context import Context, prepare

RULES: tuple[Callable[[Context], Iterable[Finding]], ...] = (
    *(rh001.check, rh002.check, rh003.check, rh004.check, rh005.check, rh006.check),
    *(rh007.check, rh008.check, rh009.check, rh010.check, rh011.check, rh012.check, other_languages.check),
)
MAX_FINDINGS = 100


def guard(change: Change, category: Category, issue_text: str = "") -> tuple[Finding, ...]:
    """Return what speaks against a change: critical findings first, then by rule, path and line."""
    context = prepare(change, category, issue_text)
    findings = {finding for rule in RULES for finding in rule(context)}
    ordered = sorted(
        findings,
        key=lambda item: (item.severity is not Severity.CRITICAL, item.rule, item.path, item.line, item.what),
    )
    return tuple(ordered[:MAX_FINDINGS])
