"""Small changes for the guard's tests: files before and after, and what the guard says of them."""

from __future__ import annotations

from collections.abc import Mapping

from domain.model import Category, Finding, Severity
from harness.guard.change import Change, Delta
from harness.guard.check import guard

Files = Mapping[str, str | None]


def change_of(old: Files, new: Files) -> Change:
    """Return the change from `old` to `old` with `new` laid over it; None deletes."""
    deltas = {}
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path, old.get(path))
        if before != after:
            deltas[path] = Delta(
                path=path,
                old=None if before is None else before.encode(),
                new=None if after is None else after.encode(),
            )
    return Change(base_commit="c", base_tree="b", tree="t", deltas=deltas)


def judged(
    old: Files, new: Files, *, issue: str = "", category: Category = Category.BUG
) -> tuple[Finding, ...]:
    """Return what the guard says of a change."""
    return guard(change_of(old, new), category, issue)


def critical(findings: tuple[Finding, ...]) -> set[str]:
    """Return the rules that refuse."""
    return {finding.rule for finding in findings if finding.severity is Severity.CRITICAL}


def edited(text: str, *pairs: str) -> str:
    """Return a text with each searched part replaced; each must be there."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
