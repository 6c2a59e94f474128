"""What the harness sees of a change: commands, test runs, findings, the verdict. Nobody's claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from domain.protected import ProtectedChange


class Severity(StrEnum):
    """Whether a finding stops the change or is shown beside it."""

    CRITICAL = "critical"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the guard objects to, and where. By `id` a maintainer may allow it; it does not count in `==`.

    `allowed_by` is the login of the maintainer who did, and then it is a warning.
    """

    rule: str
    path: str
    line: int
    what: str
    why: str
    severity: Severity
    id: str = field(default="", compare=False)
    allowed_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """One command in the sandbox. `output` is stdout and stderr together, clipped head and tail."""

    command: str
    exit_code: int
    output: str
    seconds: float
    timed_out: bool = False
    bytes_seen: int = 0
    killed: str = ""


class RunStatus(StrEnum):
    """What a run or a check can be said to have shown. Only PASSED is ever evidence for a change.

    The last two are never the status of a run by the harness: LEFT_TO_CI is what only the repository's own
    continuous integration will tell, CLAIMED what the agent alone says.
    """

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    COULD_NOT_RUN = "could not run"
    COULD_NOT_TELL = "could not tell"
    NO_TESTS = "no tests ran"
    NOT_EVIDENCE = "not evidence"
    LEFT_TO_CI = "left to CI"
    CLAIMED = "claimed by the agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One run of tests by the harness, on a tree that can be named.

    `command` is what was run, our options included; `isolation` is what was achieved while it ran. `at` is
    when it began, and `reused` says that it was run for an earlier attempt on the same tree.
    """

    __test__ = False

    name: str
    command: str
    tree: str
    status: RunStatus
    exit_code: int
    seconds: float
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    passed_ids: frozenset[str] = frozenset()
    failed_ids: frozenset[str] = frozenset()
    tail: str = ""
    note: str = ""
    timed_out: bool = False
    isolation: str = ""
    at: datetime | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something beside the runs of tests that was looked at, or was not: what came of it, and of how much."""

    name: str
    status: RunStatus
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the harness itself saw of one change. The agent's words are never in here.

    `environment` says that the change could not be judged, and that no other change could be: the tests that
    would show it do not load here. `protected` is set where the change waits for nothing but a maintainer's
    word about protected paths. `flaky` are the tests that varied on the same code and were kept out of the
    decision; `flaky_baseline` says that the very tests which show the fault are among them. `checks` are what
    else was looked at, or left to others. `beyond_words` says that the runs refuse it, too: no maintainer's
    word about its findings would let it through.
    """

    verified: bool
    summary: str
    base_sha: str
    tree: str
    runs: tuple[TestRun, ...]
    findings: tuple[Finding, ...]
    turned_green: tuple[str, ...]
    broken: tuple[str, ...]
    isolation: str
    environment: bool = False
    protected: ProtectedChange | None = None
    flaky: tuple[str, ...] = ()
    flaky_baseline: bool = False
    checks: tuple[Check, ...] = ()
    beyond_words: bool = False
