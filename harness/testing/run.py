"""One test run: a plan, in a fresh checkout, in the sandbox, with what it shows read from its own report."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Protocol

from domain.model import CommandResult, RunStatus, TestRun
from domain.ports import Sandbox, SandboxPolicy
from domain.repo_config import TestSection
from domain.text import clip, plain
from harness.testing.cases import Observed, Reading
from harness.testing.detect import detect
from harness.testing.files import read_file
from harness.testing.go_json import go_output, read_go_events
from harness.testing.junit import MAX_BYTES, read_junit
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner, TestPlan
from harness.testing.python_tests import WORK
from harness.testing.status import judge

SCRATCH = "/tmp"
"""Where a session's scratch directory is mounted in the sandbox."""

_REPORT = "fixwright-results.xml"
_OUTPUT = "fixwright-output.txt"
_RECORDER = "fixwright-unittest.py"
_PYTEST_OPTIONS = (
    "-p no:cacheprovider -p no:randomly -o junit_family=xunit1 --continue-on-collection-errors --maxfail=0"
    f" --color=no --tb=short --junitxml={SCRATCH}/{_REPORT}"
)
TAIL = 4000


class Checkouts(Protocol):
    """Where fresh checkouts come from."""

    def fresh(self, tree: str) -> Path:
        """Return a new directory that holds exactly the files of a tree. Raises GitError."""

    def discard(self, checkout: Path) -> None:
        """Remove a checkout, or a directory made beside it, whatever tests have made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run: the plan, on which tree, under which name, for how long, and on which test files only.

    No `targets` means the whole suite; they are ignored by plans that cannot be narrowed.
    """

    name: str
    plan: TestPlan
    tree: str
    deadline_seconds: float
    targets: Sequence[str] = ()


class TestBench:
    """Runs test plans, each in a checkout and a session of its own that are gone afterwards."""

    __test__ = False

    def __init__(
        self,
        sandbox: Sandbox,
        checkouts: Checkouts,
        *,
        policy: Callable[[SandboxPolicy], SandboxPolicy] | None = None,
    ) -> None:
        """Take a sandbox and a source of checkouts; `policy` may adjust the limits of each session."""
        self._sandbox = sandbox
        self._checkouts = checkouts
        self._policy = policy or (lambda given: given)

    @property
    def isolation(self) -> str:
        """Say in one line how runs are isolated."""
        return self._sandbox.isolation

    def detect(self, tree: str, section: TestSection) -> TestPlan | None:
        """Find the test command of a tree. Raises GitError."""
        checkout = self._checkouts.fresh(tree)
        try:
            return detect(checkout, section)
        finally:
            self._checkouts.discard(checkout)

    def run(self, request: RunRequest) -> Observed:
        """Run and read one plan. Raises SandboxError, GitError."""
        plan = request.plan
        if plan.doubt:
            return _not_run(request, RunStatus.NOT_EVIDENCE, plan.doubt)
        checkout = self._checkouts.fresh(request.tree)
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=checkout.parent))
        try:
            return self._run_in(request, checkout, scratch)
        finally:
            for directory in (scratch, checkout):
                if directory.exists():
                    self._checkouts.discard(directory)

    def _run_in(self, request: RunRequest, checkout: Path, scratch: Path) -> Observed:
        plan = request.plan
        if plan.runner is Runner.UNITTEST:
            source = resources.files("harness.testing").joinpath("unittest_recorder.py").read_bytes()
            (scratch / _RECORDER).write_bytes(source)
            (scratch / _RECORDER).chmod(0o644)
        environment = dict(plan.env)
        if plan.runner is Runner.PYTEST and not plan.direct:
            environment["PYTEST_ADDOPTS"] = (
                f"{environment.get('PYTEST_ADDOPTS', '')} {_PYTEST_OPTIONS}".strip()
            )
        session = self._sandbox.open(
            self._policy(SandboxPolicy(writable=checkout, scratch=scratch, env=environment))
        )
        try:
            result = session.run(_executed(plan, request.targets), request.deadline_seconds)
            reading, output = _read(plan.runner, result, scratch)
        finally:
            session.close()
        return _observed(request, result, reading, output)


def _executed(plan: TestPlan, targets: Sequence[str]) -> str:
    """Return the command as it is given to the sandbox's shell."""
    chosen = " ".join(shlex.quote(f"./{path}") for path in targets) if plan.can_narrow else ""
    if plan.runner is Runner.PYTEST:
        # Without a fixed root, pytest names tests after the common directory of the files it is given.
        options = f"{_PYTEST_OPTIONS} --rootdir={WORK}" if plan.direct else ""
        return " ".join(filter(None, [plan.command, options, chosen]))
    if plan.runner is Runner.UNITTEST:
        recorder = f"python3 {SCRATCH}/{_RECORDER} {SCRATCH}/{_REPORT}"
        return plan.command.replace("python3 -m unittest", recorder, 1)
    command = plan.command
    if plan.runner is Runner.GO and plan.direct:
        command = command.replace("go test", "go test -json", 1)
    return f"{{ {command}\n}} > {SCRATCH}/{_OUTPUT} 2>&1"


def _shown(plan: TestPlan, targets: Sequence[str]) -> str:
    """Return the command as a person would type it to see the same."""
    if plan.runner is Runner.PYTEST:
        return _executed(plan, targets)
    return plan.command


def _read(runner: Runner, result: CommandResult, scratch: Path) -> tuple[Reading | None, str]:
    """Return what the runner's report says, and the output for people."""
    if runner in {Runner.PYTEST, Runner.UNITTEST}:
        report = read_file(scratch, _REPORT, MAX_BYTES + 1)
        reading = read_junit(report) if report and len(report) <= MAX_BYTES else None
        return reading, plain(result.output)
    raw = read_file(scratch, _OUTPUT, MAX_BYTES) or b""
    text = raw.decode("utf-8", "replace")
    if runner is Runner.GO:
        return read_go_events(text), plain(go_output(text) + result.output)
    text = plain(text)
    return read_output(text), "\n".join(filter(None, [text, plain(result.output)]))


def _observed(request: RunRequest, result: CommandResult, reading: Reading | None, output: str) -> Observed:
    status, note = judge(request.plan.runner, result, reading, output)
    cases = reading.cases if reading else {}
    run = TestRun(
        name=request.name,
        command=_shown(request.plan, request.targets),
        tree=request.tree,
        status=status,
        exit_code=result.exit_code,
        seconds=result.seconds,
        passed=reading.passed if reading else None,
        failed=reading.failed if reading else None,
        skipped=reading.skipped if reading else None,
        passed_ids=frozenset(i for i, case in cases.items() if case.outcome == "passed"),
        failed_ids=frozenset(i for i, case in cases.items() if case.outcome == "failed"),
        tail=clip(output.strip(), TAIL),
        note=note,
    )
    return Observed(run=run, cases=cases, output=clip(output, 256 * 1024))


def _not_run(request: RunRequest, status: RunStatus, note: str) -> Observed:
    run = TestRun(
        name=request.name,
        command=request.plan.command,
        tree=request.tree,
        status=status,
        exit_code=-1,
        seconds=0.0,
        note=note,
    )
    return Observed(run=run, cases={}, output="")
