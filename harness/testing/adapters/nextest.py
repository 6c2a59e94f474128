"""cargo nextest: a line for each test, and below it what the test's own process printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import Adapter, Evidence, Extension, Planted, asks
from harness.testing.adapters.cargo import QUESTIONS, integration_tests, module_file, unbuilt_targets
from harness.testing.calls import Call
from harness.testing.cases import Case, CaseOutcome, Reading, reading_of
from harness.testing.json_report import clipped
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import rust_test

_LINE = re.compile(
    r"^[ \t]*(PASS|FAIL|SKIP|TIMEOUT|ABORT|SIG[A-Z]{2,8}|LEAK|LEAK-FAIL|FLAKY \d+/\d+) "
    r"\[[ \t>]*([\d.]{0,12})s?[ \t]*\] (?:\([ \d/]{1,30}\) )?(\S{1,300}) (\S{1,500})[ \t]*\r?$"
)
_SUMMARY = re.compile(r"^[ \t]*Summary \[.{1,30}?\][ \t]*(\d{1,9})(?:/\d{1,9})? tests? run:", re.MULTILINE)
_PASSED_LINE = re.compile(r"^[ \t]*test result: ok\. 1 passed", re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*stdout ─", re.MULTILINE)
_GOOD = ("PASS", "LEAK", "FLAKY")
_ENDED_EARLY = "its process ended with status 0 before the test came to its end"
_OPTIONS = (
    "--no-fail-fast --status-level=all --final-status-level=none --color=never"
    " --success-output=immediate --failure-output=immediate"
)


class NextestAdapter(Adapter):
    """`cargo nextest run`."""

    runner: ClassVar[Runner] = Runner.NEXTEST
    places: ClassVar[bool] = True

    def recognises(self, call: Call) -> bool:
        """Tell `cargo nextest run`."""
        return call.name == "cargo" and call.arguments[:2] in {("nextest", "run"), ("nextest", "r")}

    def silent(self, call: Call) -> str:
        """Name options that only build or list."""
        return asks(call, QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Let all tests run, name each, and show what each printed."""
        return Extension(
            options="" if "--" in arguments else _OPTIONS,
            env={
                "NEXTEST_STATUS_LEVEL": "all",
                "NEXTEST_SUCCESS_OUTPUT": "immediate",
                "NEXTEST_FAILURE_OUTPUT": "immediate",
                "NEXTEST_HIDE_PROGRESS_BAR": "1",
                "CARGO_TERM_COLOR": "never",
            },
        )

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the test binaries, where the files are such of the root package."""
        is_whole = all(word.startswith("-") for word in arguments[2:]) and "--" not in arguments
        return integration_tests(paths) if is_whole else ""

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a function at the end of the file."""
        return Planted.at(path, rust_test(text, name)) if path.endswith(".rs") else None

    def read(self, evidence: Evidence) -> Reading | None:
        """Read one line for each test; as many as the summary at the end says, or nothing is known."""
        reading = reading_of([*_cases(evidence), *unbuilt_targets(evidence)])
        if not reading.cases:
            return read_output(evidence.output)
        cases = reading.cases.values()
        if any(case.collection for case in cases):
            return reading
        run = sum(case.outcome is not CaseOutcome.SKIPPED or bool(case.message) for case in cases)
        summary = _SUMMARY.findall(evidence.output)
        return reading if summary and int(summary[-1]) == run else None


def _cases(evidence: Evidence) -> Iterator[Case]:
    shows_all = bool(_BLOCK.search(evidence.output))
    found: list[tuple[re.Match[str], list[str]]] = []
    for line in evidence.output.splitlines():
        if match := _LINE.match(line):
            found.append((match, []))
        elif found:
            found[-1][1].append(line)
    for match, lines in found:
        word, seconds, binary, name = match.groups()
        printed = "\n".join(lines)
        outcome, message = CaseOutcome.FAILED, printed
        if word == "SKIP":
            outcome, message = CaseOutcome.SKIPPED, ""
        elif word.startswith(_GOOD) and word != "LEAK-FAIL":
            # Each test is a process of its own: one that exits with 0 half-way is a pass to nextest.
            is_whole = not shows_all or bool(_PASSED_LINE.search(printed))
            outcome = CaseOutcome.PASSED if is_whole else CaseOutcome.SKIPPED
            message = "" if is_whole else _ENDED_EARLY
        yield Case(
            id=f"{binary}::{name}",
            file=_file(binary, name, evidence),
            name=name,
            outcome=outcome,
            message=clipped(message.strip()),
            seconds=_seconds(seconds),
        )


def _file(binary: str, name: str, evidence: Evidence) -> str:
    """Return the source behind nextest's `package::binary` and a test; a bare package means its library."""
    package, _, target = binary.partition("::")
    if target and "/" not in target:
        return evidence.find(f"tests/{target}.rs")
    root = evidence.find(f"{package}/src/lib.rs") or evidence.find("src/lib.rs")
    return module_file(root, name, evidence.paths()) if root else ""


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
