"""The plan that a maintainer approves before the agent changes anything. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from domain.approving import Waiting
from domain.budget import Standing, show_money
from domain.claim import Restatement
from domain.events import COMMAND_PREFIX
from domain.model import Category, Suspect, Task
from domain.text import inert, one_line
from harness import report
from harness.markdown import code, page

_MOST_SUSPECTS = 8


def plan_words(
    waiting: Waiting, restatement: Restatement, suspects: Sequence[Suspect], task: Task, standing: Standing
) -> str:
    """Show how the issue is read, where the fault may be, what is to be tested and what it may cost.

    The reading is the model's, the places are the localizer's; neither was verified.
    """
    said = [
        ("Expected", restatement.expected),
        ("Actual", restatement.actual),
        ("Hypothesis: the fault is in", restatement.suspected_area or "no place is suspected yet"),
        ("Test to write", _test(restatement, task)),
    ]
    lines = [f"- {name}: {inert(one_line(text, 600))}" for name, text in said]
    lines += [f"- Places to look at first: {_places(suspects)}"] if suspects else []
    lines += [
        f"- Confidence, in the model's own words: {restatement.confidence:.0%}",
        f"- Cost: {_cost(standing)}",
    ]
    lines.append(f"- Name of this plan: `{waiting.name}`")
    return page(
        [
            "**The plan, waiting for a maintainer's word.** Nothing has been changed. The reading is the "
            "model's and the places are a program's; nobody has verified either.",
            "\n".join(lines),
            f"Next: a maintainer writes `{COMMAND_PREFIX} approve`, and I begin. To change the plan, say how "
            f"in a comment and write `{COMMAND_PREFIX} plan`: I make another one. `{COMMAND_PREFIX} cancel` "
            "rejects it.",
            report.spend_line(standing),
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


def _cost(standing: Standing) -> str:
    most = standing.caps.raised(standing.spent.raised).max_cost_per_task_usd
    return f"at most {show_money(most)} for this attempt, this reading included (the cap; no forecast)."
