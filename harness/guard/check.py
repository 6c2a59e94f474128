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
    rh008_tools,
    rh009,
    rh009_inputs,
    rh010,
    rh011,
    rh012,
)
from harness.guard.change import Change
from harness.guard.context import Context, prepare
from harness.guard.syntax import rh001 as _kept
from harness.guard.syntax import rh002 as _weaker
from harness.guard.syntax import rh004 as _parsed
from harness.guard.syntax import rh009 as _known
from harness.guard.syntax import rh009_rust as _stand_ins
from harness.guard.syntax import rh010 as _emptied
from harness.guard.syntax import sign_rules as _signs
from harness.guard.waivers import with_ids

RULES: tuple[Callable[[Context], Iterable[Finding]], ...] = (
    *(rh001.check, rh002.check, rh003.check, rh004.check, rh005.check, rh006.check, rh007.check),
    *(rh008.check, rh008_tools.check, rh009.check, rh009_inputs.check, rh010.check, rh011.check, rh012.check),
    *(
        _kept.check,
        _weaker.check,
        _parsed.check,
        _known.check,
        _stand_ins.check,
        _emptied.check,
        _signs.check,
    ),
    other_languages.check,
)
MAX_FINDINGS = 100
_OF_WHOLE_FILES = (rh001.check, rh002.check, rh006.check, rh011.check)
"""What these object to may be excused by something far away in the same Python file."""


def guard(change: Change, category: Category, issue_text: str = "") -> tuple[Finding, ...]:
    """Return what speaks against a change: critical findings first, then by rule, path and line.

    What differs in a Python file is read first, and by itself; what would be refused is read again in its
    whole file, which may clear it.
    """
    context = prepare(change, category, issue_text, whole=())
    found = {rule: set(rule(context)) for rule in RULES}
    doubtful = {
        finding.path
        for rule in _OF_WHOLE_FILES
        for finding in found[rule]
        if finding.severity is Severity.CRITICAL and finding.path in context.python
    }
    if any(context.python[path].is_part for path in doubtful):
        context = prepare(change, category, issue_text, whole=doubtful)
        found |= {rule: set(rule(context)) for rule in _OF_WHOLE_FILES}
    findings = set().union(*found.values())
    ordered = sorted(
        findings,
        key=lambda item: (item.severity is not Severity.CRITICAL, item.rule, item.path, item.line, item.what),
    )
    return with_ids(change, ordered[:MAX_FINDINGS])
