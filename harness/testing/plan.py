"""The plan of a test run: which command, read in which way, and why this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Runner(StrEnum):
    """How a run's results are read."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    GO = "go test"
    OUTPUT = "summary lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPlan:
    """What to run at the root of a checkout.

    `direct` says that the command is one plain call of the runner, to which options and test files can be
    added. `doubt` is a reason, known already, why its success would prove nothing. `fallback` is the plan to
    use when the runner is not installed.
    """

    __test__ = False

    command: str
    runner: Runner
    why: str
    env: Mapping[str, str] = field(default_factory=dict)
    direct: bool = False
    doubt: str = ""
    fallback: TestPlan | None = None

    @property
    def can_narrow(self) -> bool:
        """Whether single test files can be run by themselves."""
        return self.direct and self.runner is Runner.PYTEST
