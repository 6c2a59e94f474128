"""Why a change is not verified: by the guard, by the runs, or by both. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from domain.model import Finding, Severity


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a change is not verified."""

    why: str
    broken: tuple[str, ...] = ()
    environment: bool = False
    flaky_baseline: bool = False
    by_edits: bool = False
    """Whether it rests on nothing but tests that were edited: the guard's finding says it better."""

    @property
    def is_beyond_words(self) -> bool:
        """Whether it stands whatever a maintainer allows: another try on the same code would end the same."""
        return not (self.by_edits or self.environment or self.flaky_baseline)


def by_guard(findings: Iterable[Finding]) -> Refusal | None:
    """Refuse by the first critical finding, if there is one."""
    first = next((finding for finding in findings if finding.severity is Severity.CRITICAL), None)
    return Refusal(f"{first.rule} in {first.path}: {first.what}") if first else None


def both(guarded: Refusal | None, by_runs: Refusal | None) -> Refusal | None:
    """Say what the guard objects to, and what else the runs showed."""
    if guarded is None or by_runs is None:
        return guarded or by_runs
    if by_runs.by_edits:  # the finding says so itself
        return replace(guarded, broken=by_runs.broken)
    return replace(by_runs, why=f"{guarded.why}. Besides: {by_runs.why}")


def some(names: Iterable[str]) -> str:
    """Name the first few of a list."""
    listed = sorted(names)
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return ", ".join(f"`{name}`" for name in listed[:5]) + more
