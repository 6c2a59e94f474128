"""The kinds of journey that the proof kills: repository, agent's script, caps, what people say between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.budget import Caps
from domain.claim import Restatement
from domain.model import Money, Outcome
from domain.states import State

BUGGY = "def double(x):\n    return x + 2\n"
_TEST = (
    "import unittest\n\nfrom calc import double\n\n\n"
    "class Test{0}(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(double({1}), {2})\n"
)
CALC = {"calc.py": BUGGY, "test_calc.py": _TEST.format("Two", 2, 4)}
NOTES = {"README.md": "# Lamp\n\nIt has no tests.\n"}

_FIX = "printf 'def double(x):\\n    return x * 2\\n' > calc.py"
_WRONG_FIX = "printf 'def double(x):\\n    return x + 5\\n' > calc.py"
_SHOW = f"cat > test_five.py <<'END'\n{_TEST.format('Five', 5, 10)}END"
_WRITE = "printf '# Lamp\\n\\nIt has no tests yet.\\n' > README.md"

UNCLEAR = Restatement(expected="?", actual="?", confidence=0.2, questions=["Which rounding is meant?"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """One kind of journey, and how it must end whoever died on the way.

    `scripts` are the agent's commands, attempt by attempt; `said` are comments that the maintainer writes,
    one each time that nothing is left to do; before each, `pushed` is put on the default branch.
    """

    name: str
    files: Mapping[str, str]
    label: str
    scripts: Sequence[Sequence[str]]
    ends: State
    outcomes: tuple[Outcome, ...]
    pulls: int
    restatement: Restatement | None = None
    said: Sequence[str] = ()
    pushed: Mapping[str, bytes] | None = None
    max_iterations: int = 20
    branches: int = 1

    @property
    def caps(self) -> Caps:
        """The budgets of this journey."""
        return Caps(
            max_iterations=self.max_iterations,
            max_cost_per_task_usd=Money("0.05"),
            max_raised_cost_per_task_usd=Money("0.05"),
            max_daily_cost_usd=Money("0.08"),
            max_daily_cost_total_usd=Money("0.09"),
            max_minutes=10,
            max_attempts=3,
        )

    @property
    def steps(self) -> int:
        """Calls of an undisturbed run."""
        return sum(min(len(script), self.max_iterations) for script in self.scripts[: len(self.outcomes)])


FIX = Journey(
    name="fix, second attempt verified",
    files=CALC,
    label="bug",
    scripts=((_WRONG_FIX, _SHOW), (_FIX, "true")),
    ends=State.IN_REVIEW,
    outcomes=(Outcome.UNVERIFIED, Outcome.VERIFIED),
    pulls=1,
)
LIMIT = Journey(
    name="limit, base moves, resumed",
    files=NOTES,
    label="docs",
    scripts=((_WRITE, "true", "true", "true"), ("echo more >> README.md",)),
    max_iterations=3,
    said=("/fixwright resume",),
    pushed={"NEW.md": b"upstream\n"},
    ends=State.IN_REVIEW,
    outcomes=(Outcome.TASK_LIMIT, Outcome.VERIFIED),
    pulls=1,
)
QUESTION = Journey(
    name="question",
    files=NOTES,
    label="docs",
    scripts=((),),
    restatement=UNCLEAR,
    ends=State.BLOCKED,
    outcomes=(Outcome.DECLINED,),
    pulls=0,
    branches=0,
)
DOCS = Journey(
    name="docs",
    files=NOTES,
    label="docs",
    scripts=((_WRITE, "true"),),
    ends=State.IN_REVIEW,
    outcomes=(Outcome.VERIFIED,),
    pulls=1,
)
JOURNEYS = (FIX, LIMIT, QUESTION, DOCS)
