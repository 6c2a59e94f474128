"""The status comment at each turn of a task, for the texts that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from domain.budget import ZERO
from domain.model import Phase
from tests.harness.text_makers import NOW
from tests.worker.answer_texts import ATTEMPT, STANDING
from worker import announce
from worker.status_words import (
    PUBLISH,
    PhaseLine,
    Round,
    StatusFacts,
    phase_lines,
    status_page,
    with_current,
)


def phase(name: str, after: int, seconds: float, note: str = "") -> Phase:
    return Phase(name=name, started_at=NOW + timedelta(seconds=after), seconds=seconds, cost=ZERO, note=note)


BEGUN = (
    phase("prepare", 0, 2.14),
    phase("baseline", 3, 11.6, "2 failed, no module named `lxml`"),
    phase("set-up", 15, 74.2, "uv sync --frozen, since uv.lock is there"),
    phase("baseline", 90, 30.0, "41 passed, 0 failed"),
    phase("localize", 120, 0.4, "shop/price.py, shop/tax.py"),
)
REST = (
    phase("agent", 121, 3725, "12 steps"),
    phase("check", 3846, 0.1),
    phase("verify", 3847, 59.99, "1 failing before and passing now"),
    phase(PUBLISH, 3907, 1.8),
)
OPEN = replace(ATTEMPT, number=2, outcome=None, ended_at=None, steps=12)
AGENT = PhaseLine(name="agent", started_at=NOW + timedelta(seconds=121))
PAGE = "https://fixwright.example/console/tasks/7"
HOSTILE = "@everyone fixes #1\n- [x] merged ![p](https://evil.example/p.png) <script> ```\n# Done"


def working(**changes: object) -> str:
    facts = StatusFacts(
        headline=f"**Working on it** ({Round(number=2, place=2, most=3).in_words}, at most $5.00).",
        detail="There is no `.fixwright.yml` on the default branch, so the defaults hold.",
        hypothesis="`round()` rounds half to even, so 2.5 cents became 2.",
        phases=with_current(phase_lines(BEGUN), AGENT),
        attempt=OPEN,
        standing=STANDING,
        next_step="I go on by myself. To stop me, a maintainer takes the label `bug` off or writes "
        "`/fixwright cancel`.",
        console=PAGE,
    )
    return status_page(replace(facts, **changes))  # type: ignore[arg-type]


STATUSES: dict[str, Callable[[], str]] = {
    "status-working": working,
    "status-in-review": lambda: working(
        headline="**In review:** draft pull request [#3](https://forge.example/3).",
        detail="",
        hypothesis="",
        phases=phase_lines((*BEGUN, *REST)),
        attempt=ATTEMPT,
        next_step="a maintainer reviews it.",
    ),
    "status-waiting": lambda: status_page(
        StatusFacts(
            headline="**Waiting for its turn:** 2nd of 5 in the queue.",
            next_step="I go on by myself. `/fixwright cancel` stops me.",
            standing=STANDING,
        )
    ),
    "status-model-refused": lambda: status_page(
        StatusFacts(
            headline="**Waiting for its turn:** next in the queue.",
            detail=f"{announce.MODEL_REFUSED}\n\nAttempt 2 goes on from its last step.",
            next_step="I go on by myself. `/fixwright cancel` stops me.",
            phases=phase_lines(BEGUN),
            attempt=OPEN,
            standing=STANDING,
        )
    ),
    "status-hostile": lambda: working(
        hypothesis=HOSTILE, phases=phase_lines([phase("baseline", 0, 1, HOSTILE), phase(HOSTILE, 0, 1)])
    ),
}
