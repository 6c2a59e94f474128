"""The plan of a test run: which command, read in which way, and why this one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Runner(StrEnum):
    """How a run's results are read; each has its adapter in `harness.testing.adapters`."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    GO = "go test"
    JEST = "jest"
    VITEST = "vitest"
    MOCHA = "mocha"
    NODE = "node:test"
    CARGO = "cargo test"
    NEXTEST = "cargo nextest"
    RSPEC = "rspec"
    PHPUNIT = "phpunit"
    MAVEN = "maven"
    GRADLE = "gradle"
    CTEST = "ctest"
    OUTPUT = "summary lines"


class Reach(StrEnum):
    """How options get to the runner that a command starts."""

    CALL = "added to the call itself"
    SCRIPT = "added to the end of the command"
    DASHES = "added to the end of the command, after `--`"
    ENVIRONMENT = "by variables only"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPlan:
    """What to run at the root of a checkout.

    `reach` says how options, and test files, get to the runner, and `arguments` with what it is called.
    `place` is the directory that the command is run in and `directory` where the runner starts, both from the
    root and "" for it. `doubt` is a reason, known already, why its
    success would prove nothing. `fallback` is the plan to use when the runner is not installed.
    """

    __test__ = False

    command: str
    runner: Runner
    why: str
    env: Mapping[str, str] = field(default_factory=dict)
    reach: Reach = Reach.ENVIRONMENT
    arguments: tuple[str, ...] = ()
    directory: str = ""
    place: str = ""
    doubt: str = ""
    fallback: TestPlan | None = None

    @property
    def shown(self) -> str:
        """What a person would type at the root to run this."""
        return f"cd {shlex.quote(self.place)} && {self.command}" if self.place else self.command

    @property
    def direct(self) -> bool:
        """Whether options can be added to the runner's own call."""
        return self.reach is Reach.CALL
