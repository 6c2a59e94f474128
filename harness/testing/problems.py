"""What can be wrong with a test environment: the kinds, and one diagnosis with the fix to make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """What is wrong with an environment."""

    NO_TESTS = "no tests found"
    TOOL_MISSING = "tool missing"
    IMPORT = "import or module error"
    VERSION = "wrong version of a tool"
    LOCKFILE = "lockfile missing or out of date"
    VARIABLE = "environment variable missing"
    PLACE = "needs something that the sandbox has not"
    SERVICE = "needs a service or network"
    TIMEOUT = "times out"
    NOT_EVIDENCE = "the test command proves nothing"
    RESOURCES = "out of memory, disk or processes"
    UNREADABLE = "could not tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentProblem:
    """One diagnosis. `lines` are taken from the run's output; `fix` is a sentence for the maintainer."""

    kind: ProblemKind
    what: str
    lines: tuple[str, ...]
    fix: str
