"""Allowing one exact change of protected paths, or one finding of the guard, from a comment. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.events import COMMAND_START
from domain.model import Actor, Finding, Severity, Task, Verdict
from domain.states import LIVE_STATES

_COMMAND = re.compile(
    rf"{COMMAND_START}[ \t]++allow[ \t]++(?P<change>\S{{1,100}})[ \t]*+", re.IGNORECASE | re.ASCII
)
_CHANGE = re.compile(r"[0-9a-f]{40}", re.IGNORECASE | re.ASCII)
_FINDING = re.compile(r"(RH[0-9]{3})-([0-9a-f]{16,64})", re.IGNORECASE | re.ASCII)
_STANDING_RULE = re.compile(r"(?:CHANGE|SECRET)(?:-[A-Z]+)+", re.IGNORECASE | re.ASCII)
"""Rules that stand before any commit: secrets, submodules, links, names. Their findings have no id."""

NEVER = frozenset({"RH004"})
"""Rules of the guard that nobody can waive: a file that does not parse is no matter of opinion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """A maintainer's word on one issue: `change` is a protected change's name, or a finding's id."""

    change: str
    by: Actor
    comment_id: str
    at: datetime


class AllowRefusal(StrEnum):
    """Why nothing is allowed. Each is said once per task."""

    NOT_PERMITTED = "not_permitted"
    NOT_A_NAME = "not_a_name"
    NEVER = "never"
    ENDED = "ended"
    NOT_WAITING = "not_waiting"


def named_change(comment: str) -> str | None:
    """Return the name or id in a comment's first line, `/fixwright allow NAME`, or None where there is none.

    In the one spelling in which they are kept. A rule that nobody can waive is returned as it is called.
    """
    first_line = comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
    match = _COMMAND.fullmatch(first_line)
    return _spelled(match["change"]) if match else None


def _spelled(word: str) -> str | None:
    if _CHANGE.fullmatch(word):
        return word.lower()
    if _STANDING_RULE.fullmatch(word) or word.upper() in NEVER:
        return word.upper()
    finding = _FINDING.fullmatch(word)
    return f"{finding[1].upper()}-{finding[2].lower()}" if finding else None


def is_allowable(finding: Finding) -> bool:
    """Tell whether a maintainer's word can take a finding's refusal away."""
    return bool(finding.id) and finding.rule not in NEVER


def refusing(verdict: Verdict) -> tuple[Finding, ...]:
    """Return the findings that refuse a change."""
    return tuple(finding for finding in verdict.findings if finding.severity is Severity.CRITICAL)


def asked_about(verdict: Verdict) -> tuple[str, ...]:
    """Return the names of what stands against a change, where maintainers' words would take all of it away.

    Nobody is asked about a change that could not be taken anyway.
    """
    if verdict.protected is not None:
        return (verdict.protected.name,)
    findings = refusing(verdict)
    if verdict.beyond_words:
        return ()
    return tuple(each.id for each in findings) if all(map(is_allowable, findings)) else ()


def is_cleared(verdict: Verdict, words: Iterable[Allowance]) -> bool:
    """Tell whether all that stood against a change has been allowed since."""
    said = {word.change for word in words}
    asked = asked_about(verdict)
    return bool(asked) and said.issuperset(asked)


def decide_allowance(
    named: str | None, task: Task, *, waiting: Collection[str], permitted: bool
) -> str | AllowRefusal:
    """Return the name of what is allowed, or why nothing is.

    `waiting` are the names of this task's changes and findings that may be allowed. The first refusal that
    fits is the answer.
    """
    if not permitted:
        return AllowRefusal.NOT_PERMITTED
    if task.state not in LIVE_STATES:
        return AllowRefusal.ENDED
    if named is None:
        return AllowRefusal.NOT_A_NAME
    if named in waiting:
        return named
    is_beyond = named.partition("-")[0] in NEVER or _STANDING_RULE.fullmatch(named)
    return AllowRefusal.NEVER if is_beyond else AllowRefusal.NOT_WAITING
