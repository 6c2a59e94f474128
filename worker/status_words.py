"""The one status comment of an issue, as pure text: where it stands, the phases, the money, who is next.

It is read aloud by some: each line says in words what its box shows, and nothing depends on a colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain.budget import Standing, show_money
from domain.model import Attempt, Limit, Phase
from domain.text import inert, one_line
from harness import report
from harness.markdown import page

PUBLISH = "publish"
"""The phase in which a verified change is put on the forge."""

PLANNED = ("prepare", "baseline", "localize", "agent", "check", "verify", PUBLISH)
"""The phases that each attempt goes through, in this order; others come where they are needed."""

_LONGEST_NOTE = 160
_LONGEST_HYPOTHESIS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLine:
    """One phase of an attempt. Seconds of all its runs together; None while it is under way.

    Without `started_at` it has not begun. `note` is outside text. `times` counts its runs.
    """

    name: str
    started_at: datetime | None = None
    seconds: float | None = None
    note: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Which attempt this is: its number, and its place among those that its last request allows.

    `most` is 0 where it is not known how many there may be.
    """

    number: int
    place: int
    most: int = 0

    @property
    def in_words(self) -> str:
        """Write it as "attempt 1 of at most 2"."""
        most = f" of at most {self.most}" if self.most else ""
        if self.place == self.number:
            return f"attempt {self.number}{most}"
        again = f"number {self.place}{most} since this was last asked for" if self.most else ""
        return f"attempt {self.number}, {again}" if again else f"attempt {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFacts:
    """What a status says. `headline`, `detail` and `next_step` are ready Markdown, `hypothesis` is not.

    `console` is the address of the task's page, "" where people cannot reach it.
    """

    headline: str
    next_step: str
    detail: str = ""
    phases: tuple[PhaseLine, ...] = ()
    attempt: Attempt | None = None
    hypothesis: str = ""
    standing: Standing | None = None
    console: str = ""


def status_page(facts: StatusFacts) -> str:
    """Return the status as a page."""
    return page(
        [
            facts.headline,
            facts.detail,
            _hypothesis(facts.hypothesis),
            _phases(facts),
            _money(facts),
            f"Next: {facts.next_step}",
            f"All of it, step by step: {facts.console}" if facts.console else "",
        ]
    )


def phase_lines(phases: Iterable[Phase]) -> tuple[PhaseLine, ...]:
    """Return the finished phases of one attempt, each once, in the order of their first run."""
    lines: dict[str, PhaseLine] = {}
    for phase in phases:
        seen = lines.get(phase.name)
        if seen is None:
            lines[phase.name] = PhaseLine(
                name=phase.name, started_at=phase.started_at, seconds=phase.seconds, note=phase.note
            )
        else:
            seconds = (seen.seconds or 0.0) + phase.seconds
            lines[phase.name] = replace(seen, seconds=seconds, note=phase.note, times=seen.times + 1)
    return tuple(lines.values())


def with_current(done: Sequence[PhaseLine], current: PhaseLine | None) -> tuple[PhaseLine, ...]:
    """Return the phases with the one that is under way, and those that are still to come."""
    lines = [line for line in done if current is None or line.name != current.name]
    lines += [current] if current else []
    begun = {line.name for line in lines}
    furthest = max((PLANNED.index(name) for name in begun if name in PLANNED), default=-1)
    return (*lines, *(PhaseLine(name=name) for name in PLANNED[furthest + 1 :]))


def lasting(seconds: float) -> str:
    """Write a stretch of time: 2.1 s, 3 min 05 s, 1 h 02 min."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _phases(facts: StatusFacts) -> str:
    if not facts.phases:
        return ""
    lines = [_line(line) for line in facts.phases]
    attempt = facts.attempt
    begun = (
        f"Attempt {attempt.number} began on {attempt.started_at:%Y-%m-%d} at {attempt.started_at:%H:%M:%S} "
        f"UTC{_steps(attempt)}:"
        if attempt
        else "So far:"
    )
    return "\n".join([begun, "", *lines])


def _steps(attempt: Attempt) -> str:
    if not attempt.steps or attempt.outcome is not None:
        return ""
    return f", {attempt.steps} step{'s' if attempt.steps != 1 else ''} of the agent so far"


def _line(line: PhaseLine) -> str:
    what = inert(one_line(line.name, 40))
    if line.started_at is None:
        return f"- [ ] {what}: not yet."
    began = f"{line.started_at:%H:%M:%S} UTC"
    if line.seconds is None:
        return f"- [ ] {what}: under way since {began}."
    times = f", in {line.times} runs" if line.times > 1 else ""
    note = inert(one_line(line.note, _LONGEST_NOTE))
    said = f"- [x] {what}: began {began}, took {lasting(line.seconds)}{times}"
    return f"{said}. {note}" if note else f"{said}."


def _hypothesis(text: str) -> str:
    said = inert(one_line(text, _LONGEST_HYPOTHESIS))
    return f"Hypothesis, in the agent's words, not verified: {said}" if said else ""


def _money(facts: StatusFacts) -> str:
    standing = facts.standing
    if standing is None:
        return ""
    issue = standing.left(Limit.TASK_TOTAL)
    left = f"This issue has {show_money(issue)} left."
    if facts.attempt is not None and facts.attempt.outcome is None:
        attempt = min(issue, standing.left(Limit.TASK_COST))
        left = f"This attempt has {show_money(attempt)} left, and this issue {show_money(issue)}."
    return f"{report.spend_line(standing)} {left}"
