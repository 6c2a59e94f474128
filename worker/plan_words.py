"""The plan that a maintainer approves before the agent changes anything. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.approving import Waiting
from domain.budget import Standing, show_money
from domain.claim import Restatement
from domain.events import COMMAND_PREFIX
from domain.model import Category, Suspect, Task
from domain.text import inert, one_line
from harness import report
from harness.markdown import code, page
from worker.approval_words import THUMBS
from worker.typical import LEAST_ATTEMPTS, Typical

_MOST_SUSPECTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCost:
    """What a plan's work may cost: the caps and what is spent, and what work like this costs, if known."""

    standing: Standing
    typical: Typical | None = None


def plan_words(
    waiting: Waiting,
    restatement: Restatement,
    suspects: Sequence[Suspect],
    task: Task,
    cost: PlanCost,
    *,
    thumbs: bool = False,
) -> str:
    """Show how the issue is read, where the fault may be, what is to be tested and what it may cost.

    The reading is the model's, the places are the localizer's; neither was verified.
    """
    said = [
        ("Expected", restatement.expected),
        ("Actual", restatement.actual),
        ("Hypothesis, where the fault is", restatement.suspected_area or "no place is suspected yet"),
        ("Test to write", _test(restatement, task)),
    ]
    lines = [f"- {name}: {inert(one_line(text, 600))}" for name, text in said]
    lines += [f"- Places to look at first: {_places(suspects)}"] if suspects else []
    lines += [
        f"- Confidence, in the model's own words: {restatement.confidence:.0%}",
        f"- Cost: {_cost(cost, task)}",
    ]
    lines.append(f"- Name of this plan: `{waiting.name}`")
    return page(
        [
            "**The plan, waiting for a maintainer's word.** Nothing has been changed. The reading is the "
            "model's and the places are a program's; nobody has verified either.",
            "\n".join(lines),
            f"Next: a maintainer writes `{COMMAND_PREFIX} approve`, and I begin."
            f"{THUMBS if thumbs else ''} To change the plan, say how "
            f"in a comment and write `{COMMAND_PREFIX} plan`: I make another one. `{COMMAND_PREFIX} cancel` "
            "rejects it.",
            report.spend_line(cost.standing),
        ]
    )


def _test(restatement: Restatement, task: Task) -> str:
    if task.category is not Category.BUG:
        return f"none is demanded of work of the kind {task.category}; what there is must stay green"
    shown = restatement.reproduction or restatement.expected
    return f"one that is red before and green after, from: {shown}"


def _places(suspects: Sequence[Suspect]) -> str:
    shown = [
        code(f"{each.path}:{each.first_line}" if each.first_line else each.path, 200)
        for each in suspects[:_MOST_SUSPECTS]
    ]
    return ", ".join(shown)


def _cost(cost: PlanCost, task: Task) -> str:
    standing, typical = cost.standing, cost.typical
    most = standing.caps.raised(standing.spent.raised).max_cost_per_task_usd
    cap = f"at most {show_money(most)} for this attempt, this reading included (the cap)"
    if typical is None:
        few = f"fewer than {LEAST_ATTEMPTS} attempts at work of the kind {task.category}"
        return f"{cap}. What is typical is not known: {few} are on record in this repository."
    return (
        f"typically {show_money(typical.middle)} for an attempt: the median of the last {typical.attempts} "
        f"at work of the kind {task.category} in this repository, which cost from "
        f"{show_money(typical.lowest)} to {show_money(typical.highest)}. And {cap}."
    )
