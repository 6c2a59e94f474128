"""jest: results as its own JSON report. The same form is vitest's, so it is read here for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import (
    SCRATCH,
    Adapter,
    Evidence,
    Extension,
    Planted,
    asks,
    case_id,
    positional,
    quoted_paths,
    unloaded,
)
from harness.testing.calls import Call
from harness.testing.cases import Case, CaseOutcome, Reading, reading_of
from harness.testing.json_report import clipped, number, objects, read_json, text, texts
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import global_javascript_test

_REPORT = "fixwright-jest.json"
_QUESTIONS = frozenset(
    {"--version", "-v", "--help", "-h", "--listTests", "--showConfig", "--init", "--clearCache"}
)
_OUTCOMES = {
    "passed": CaseOutcome.PASSED,
    "failed": CaseOutcome.FAILED,
    "focused": CaseOutcome.PASSED,
    "pending": CaseOutcome.SKIPPED,
    "skipped": CaseOutcome.SKIPPED,
    "disabled": CaseOutcome.SKIPPED,
    "todo": CaseOutcome.SKIPPED,
}


class JestAdapter(Adapter):
    """jest, and `react-scripts test`, which is jest."""

    runner: ClassVar[Runner] = Runner.JEST
    by_environment: ClassVar[bool] = False

    def recognises(self, call: Call) -> bool:
        """Tell `jest`, `node …/jest` and `react-scripts test`."""
        if call.name == "node":
            return any(word.rsplit("/", 1)[-1] in {"jest", "jest.js"} for word in call.arguments)
        return call.name == "jest" or call.texts[:2] == ("react-scripts", "test")

    def silent(self, call: Call) -> str:
        """Name options that only list."""
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report in a file; the usual output stays."""
        return Extension(options=f"--json --outputFile={SCRATCH}/{_REPORT}", report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files by their paths, not as patterns."""
        return "" if positional(arguments) else f"--runTestsByPath {quoted_paths(paths)}"

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a test at the end of the file."""
        return Planted(path, global_javascript_test(text, name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; without one, the counts that were printed."""
        if not evidence.reports:
            return read_output(evidence.output)
        return read_jest(evidence.reports[0], evidence)


def read_jest(data: bytes, evidence: Evidence) -> Reading | None:
    """Return the results in a report of jest's form, or None."""
    report = read_json(data)
    if not isinstance(report, dict) or not isinstance(report.get("testResults"), list):
        return None
    cases = [case for suite in objects(report, "testResults") for case in _suite(suite, evidence)]
    if not cases and number(report, "numTotalTests"):
        return None
    return reading_of(cases)


def _suite(suite: Mapping[str, object], evidence: Evidence) -> Iterator[Case]:
    file = evidence.relative(text(suite, "name"))
    results = list(objects(suite, "assertionResults"))
    for result in results:
        outcome = _OUTCOMES.get(text(result, "status"))
        if outcome is not None:
            name = " > ".join([*texts(result, "ancestorTitles"), text(result, "title")])
            yield Case(
                id=case_id(file, name),
                file=file,
                name=name,
                outcome=outcome,
                message=clipped("\n".join(texts(result, "failureMessages"))),
                seconds=number(result, "duration") / 1000,
            )
    if text(suite, "status") == "failed" and not any(text(r, "status") == "failed" for r in results):
        yield unloaded(file, clipped(text(suite, "message")))
