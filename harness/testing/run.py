"""One test run: a plan, in a fresh checkout, in the sandbox, with what it shows read from its own report."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from domain.model import CommandResult, RunStatus, TestRun
from domain.ports import Sandbox, SandboxPolicy
from domain.repo_config import TestSection
from domain.text import clip, plain
from harness.testing.adapters.adapter import WORK, Evidence, Planted
from harness.testing.cases import UNREPORTED, Observed, Reading
from harness.testing.detect import detect
from harness.testing.files import read_file, walk
from harness.testing.junit import MAX_BYTES
from harness.testing.plan import Runner, TestPlan
from harness.testing.prepared import OUTPUT_FILE, Prepared, prepare
from harness.testing.report_files import find_reports, fingerprints, new_reports
from harness.testing.status import judge

MAX_PATHS = 50_000
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

    No `targets` means the whole suite; they are ignored by plans that cannot be narrowed. `planted` are files
    that are put into the checkout, or in the place of its own.
    """

    name: str
    plan: TestPlan
    tree: str
    deadline_seconds: float
    targets: Sequence[str] = ()
    planted: Sequence[Planted] = ()

    def begun(self, isolation: str) -> TestRun:
        """Return the record of this run as far as it is known when it begins."""
        return TestRun(
            name=self.name,
            command=self.plan.shown,
            tree=self.tree,
            status=RunStatus.COULD_NOT_RUN,
            exit_code=-1,
            seconds=0.0,
            isolation=isolation,
            at=datetime.now(UTC),
        )


_TOOLKIT_END = "that is all"
_TOOLKIT = (
    'IFS=:; for d in $PATH; do for f in "$d" "$d"/../lib/python3*/site-packages'
    ' "$d"/../lib/python3/dist-packages "$d"/../lib/node_modules "$d"/../lib/ruby; do'
    " stat -Lc '%n %Y %i' \"$f\"; done; done 2>/dev/null | cut -c 1-300 | sort -u;"
    f" cat /etc/os-release 2>/dev/null; echo; echo {_TOOLKIT_END}"
)
"""Installing or removing anything changes the time of one of these directories. Nothing of ours runs here."""


@dataclass(frozen=True, slots=True)
class Survey:
    """How a tree is tested, and the tools that its runs will find, "" where that cannot be said."""

    plan: TestPlan | None
    toolkit: str


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

    def detect(self, tree: str, section: TestSection, place: str = "") -> TestPlan | None:
        """Find the test command of a tree, or of a directory in it. Raises GitError."""
        return self.survey(tree, section, place, look_at_tools=False).plan

    def survey(self, tree: str, section: TestSection, place: str = "", *, look_at_tools: bool) -> Survey:
        """Find the test command of a tree, and the tools that are there. Raises SandboxError, GitError."""
        checkout = self._checkouts.fresh(tree)
        try:
            plan = detect(checkout, section, place)
            return Survey(plan, self._toolkit(checkout) if look_at_tools and plan else "")
        finally:
            self._checkouts.discard(checkout)

    @property
    def limits(self) -> str:
        """Say what limits a session is given, in a form that is the same as long as they are."""
        nowhere = Path("/")
        policy = self._policy(SandboxPolicy(writable=nowhere, scratch=nowhere))
        return repr(replace(policy, writable=nowhere, scratch=nowhere, egress=None, env={}))

    def _toolkit(self, checkout: Path) -> str:
        """Look at the directories that programs and their libraries are found in; "" where that fails."""
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=checkout.parent))
        try:
            session = self._sandbox.open(self._policy(SandboxPolicy(writable=checkout, scratch=scratch)))
            try:
                result = session.run(_TOOLKIT, 20)
            finally:
                session.close()
        finally:
            if scratch.exists():
                self._checkouts.discard(scratch)
        is_whole = result.exit_code == 0 and result.output.rstrip().endswith(_TOOLKIT_END)
        return result.output if is_whole and result.bytes_seen <= len(result.output) + 1024 else ""

    def run_command(
        self, name: str, tree: str, command: str, deadline_seconds: float, place: str = ""
    ) -> TestRun:
        """Run a command in a fresh checkout; only its exit status is read. Raises SandboxError, GitError."""
        checkout = self._checkouts.fresh(tree)
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=checkout.parent))
        try:
            begun = datetime.now(UTC)
            session = self._sandbox.open(self._policy(SandboxPolicy(writable=checkout, scratch=scratch)))
            try:
                placed = f"cd {shlex.quote(place)} && {command}" if place else command
                result = session.run(placed, deadline_seconds)
            finally:
                session.close()
        finally:
            for directory in (scratch, checkout):
                if directory.exists():
                    self._checkouts.discard(directory)
        status = RunStatus.PASSED if result.exit_code == 0 else RunStatus.FAILED
        return TestRun(
            name=name,
            command=placed,
            tree=tree,
            status=RunStatus.TIMED_OUT if result.timed_out else status,
            exit_code=result.exit_code,
            seconds=result.seconds,
            tail=clip(plain(result.output).strip(), TAIL),
            timed_out=result.timed_out,
            isolation=self.isolation,
            at=begun,
        )

    def run(self, request: RunRequest) -> Observed:
        """Run and read one plan. Raises SandboxError, GitError."""
        plan = request.plan
        if plan.doubt:
            refused = replace(request.begun(self.isolation), status=RunStatus.NOT_EVIDENCE, note=plan.doubt)
            return Observed(run=refused, cases={}, output="")
        checkout = self._checkouts.fresh(request.tree)
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=checkout.parent))
        try:
            return self._run_in(request, checkout, scratch)
        finally:
            for directory in (scratch, checkout):
                if directory.exists():
                    self._checkouts.discard(directory)

    def _run_in(self, request: RunRequest, checkout: Path, scratch: Path) -> Observed:
        prepared = prepare(request.plan, request.targets)
        for planted in request.planted:
            (checkout / planted.path).write_bytes(planted.text.encode("utf-8", "surrogateescape"))
        for name, content in prepared.extension.files.items():
            (scratch / name).write_bytes(content)
            (scratch / name).chmod(0o644)
        before = _Before.of(checkout, prepared)
        session = self._sandbox.open(
            self._policy(SandboxPolicy(writable=checkout, scratch=scratch, env=prepared.env))
        )
        begun = request.begun(self.isolation)
        try:
            result = session.run(prepared.command, request.deadline_seconds)
            evidence = before.evidence(result, scratch, request.plan.directory)
        finally:
            session.close()
        reading = prepared.adapter.read(evidence)
        is_asked = bool(prepared.extension.report or prepared.extension.reports)
        if reading is not None and is_asked and not evidence.reports:
            reading = replace(reading, note=UNREPORTED)
        begun = replace(begun, command=prepared.shown)
        shown = prepared.adapter.shown_output(evidence.output)
        return _observed(begun, request.plan.runner, result, reading, shown)


@dataclass(frozen=True, slots=True)
class _Before:
    """What is known of a checkout before anything runs in it."""

    checkout: Path
    prepared: Prepared
    paths: frozenset[str]
    reports: Mapping[str, str]

    @classmethod
    def of(cls, checkout: Path, prepared: Prepared) -> _Before:
        """Look at a fresh checkout, as far as the runner's adapter needs it."""
        listed = walk(checkout, max_files=MAX_PATHS) if prepared.adapter.places else ()
        reports = find_reports(checkout, prepared.extension.reports, MAX_BYTES)
        return cls(checkout, prepared, frozenset(path for path, _, _ in listed), fingerprints(reports))

    def evidence(self, result: CommandResult, scratch: Path, directory: str) -> Evidence:
        """Gather what a run left. The tested code may have written any of it."""
        extension = self.prepared.extension
        reports: tuple[bytes, ...] = ()
        if extension.report:
            report = read_file(scratch, self.prepared.place(extension.report), MAX_BYTES + 1)
            reports = (report,) if report and len(report) <= MAX_BYTES else ()
        if extension.reports:
            reports = new_reports(find_reports(self.checkout, extension.reports, MAX_BYTES), self.reports)
        output = result.output
        if self.prepared.adapter.captures:
            raw = read_file(scratch, self.prepared.place(OUTPUT_FILE), MAX_BYTES) or b""
            output = "\n".join(filter(None, [raw.decode("utf-8", "replace"), output]))
        return Evidence(
            reports=reports,
            output=output if self.prepared.adapter.runner is Runner.GO else plain(output),
            paths=lambda: self.paths,
            roots=(WORK, str(self.checkout), str(self.checkout.resolve())),
            directory=directory,
        )


def _observed(
    begun: TestRun, runner: Runner, result: CommandResult, reading: Reading | None, output: str
) -> Observed:
    output = plain(output)
    status, note = judge(runner, result, reading, output)
    cases = reading.cases if reading else {}
    run = replace(
        begun,
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
        timed_out=result.timed_out,
    )
    return Observed(run=run, cases=cases, output=clip(output, 256 * 1024))
