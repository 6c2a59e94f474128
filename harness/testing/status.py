"""What a finished run can be said to have shown. Only full agreement of status and report is a pass."""

from __future__ import annotations

import re

from domain.model import CommandResult, RunStatus
from harness.testing.cases import CaseOutcome, Reading
from harness.testing.output_lines import says_no_tests
from harness.testing.plan import Runner

_NOT_FOUND = re.compile(
    r"^.*(?:: (?:command )?not found|: No such file or directory|No module named (?:pytest|unittest)\b).*$",
    re.MULTILINE,
)
_SUMMARY = re.compile(r"^[= \t]*(?:\d+ \w+(?:, )?)+ in [\d.]+s\b", re.MULTILINE)
_PYTEST_BROKE = 3
"""An exception in pytest, a plugin or a conftest.py: whatever was reported, the run was cut short."""
_PYTEST_ENDS = {
    2: "pytest was interrupted",
    3: "pytest itself failed",
    4: "pytest did not accept its arguments or configuration",
}


def judge(
    runner: Runner, result: CommandResult, reading: Reading | None, output: str
) -> tuple[RunStatus, str]:
    """Return the status of a run and a note that explains it ("" for a plain pass or failure)."""
    if result.timed_out:
        return RunStatus.TIMED_OUT, f"did not finish within {result.seconds:.0f} s (watch mode?)"
    if result.killed:
        return RunStatus.COULD_NOT_RUN, f"stopped by the sandbox: {result.killed}"
    if result.exit_code in {126, 127}:
        return RunStatus.COULD_NOT_RUN, _first(_NOT_FOUND, output) or "the command was not found"
    stopped = result.exit_code in _PYTEST_ENDS and not _ran(reading)
    if runner is Runner.PYTEST and (stopped or result.exit_code == _PYTEST_BROKE):
        return RunStatus.COULD_NOT_RUN, _PYTEST_ENDS[result.exit_code]
    if reading is None:
        return _unread(runner, result, output)
    return _read(runner, result, reading, output)


def _unread(runner: Runner, result: CommandResult, output: str) -> tuple[RunStatus, str]:
    if says_no_tests(output) or (result.exit_code == 5 and runner in {Runner.PYTEST, Runner.UNITTEST}):
        return RunStatus.NO_TESTS, "no tests ran"
    if missing := _first(_NOT_FOUND, output):
        return RunStatus.COULD_NOT_RUN, missing
    if result.exit_code == 0:
        return RunStatus.COULD_NOT_TELL, "exit status 0, but no results could be read"
    if runner is Runner.OUTPUT:
        return (
            RunStatus.COULD_NOT_TELL,
            f"exit status {result.exit_code}, and no count of tests could be read",
        )
    return (
        RunStatus.COULD_NOT_TELL,
        f"exit status {result.exit_code}, but the test report is missing or broken",
    )


def _read(runner: Runner, result: CommandResult, reading: Reading, output: str) -> tuple[RunStatus, str]:
    if not reading.passed and not reading.failed:
        note = f"all {reading.skipped} tests were skipped" if reading.skipped else "no tests ran"
        return RunStatus.NO_TESTS, note
    if result.exit_code == 0 and reading.failed:
        return RunStatus.COULD_NOT_TELL, f"exit status 0, but {reading.failed} tests failed"
    if result.exit_code == 0:
        if runner is Runner.PYTEST and not _SUMMARY.search(output):
            return (
                RunStatus.COULD_NOT_TELL,
                "pytest's closing summary is missing; the process may have been cut short",
            )
        return RunStatus.PASSED, reading.note
    if not reading.failed:
        return (
            RunStatus.COULD_NOT_TELL,
            f"exit status {result.exit_code}, but no test is reported to have failed",
        )
    if _only_missing_modules(reading):
        return RunStatus.COULD_NOT_RUN, "no test file could be loaded"
    return RunStatus.FAILED, reading.note


def _ran(reading: Reading | None) -> bool:
    return reading is not None and reading.passed + reading.failed > 0


def _only_missing_modules(reading: Reading) -> bool:
    failed = [case for case in reading.cases.values() if case.outcome is CaseOutcome.FAILED]
    if reading.passed or not failed:
        return False
    return all(
        case.collection and re.search(r"ModuleNotFoundError|ImportError", case.message) for case in failed
    )


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[0].strip()[:300] if match else ""
