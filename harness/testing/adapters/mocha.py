"""mocha: results as the JSON of its own reporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import (
    SCRATCH,
    Adapter,
    Evidence,
    Extension,
    Planted,
    asks,
    case_id,
    quoted_paths,
)
from harness.testing.calls import Call
from harness.testing.cases import Case, CaseOutcome, Reading, reading_of
from harness.testing.json_report import clipped, number, objects, read_json, text
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import global_javascript_test

_REPORT = "fixwright-mocha.json"
_QUESTIONS = frozenset(
    {"--version", "-V", "--help", "-h", "--dry-run", "--list-files", "--list-interfaces", "--list-reporters"}
)


class MochaAdapter(Adapter):
    """mocha."""

    runner: ClassVar[Runner] = Runner.MOCHA

    def recognises(self, call: Call) -> bool:
        """Tell `mocha`, also as `_mocha` and through ts-mocha and electron-mocha."""
        return call.name in {"mocha", "_mocha", "ts-mocha"}

    def silent(self, call: Call) -> str:
        """Name options that only list or pretend."""
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report in a file. A mocha that knows no file for it prints it."""
        options = f"--reporter json --reporter-option output={SCRATCH}/{_REPORT}"
        return Extension(options=options, env_behind={"MOCHA_OPTIONS": options}, report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files. What a configuration names is run beside them."""
        return quoted_paths(paths)

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a test at the end of the file."""
        return Planted(path, global_javascript_test(text, name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report, from its file or from the output; without one, the counts that were printed."""
        printed = evidence.output.find('{\n  "stats"')
        data = evidence.reports[0] if evidence.reports else evidence.output[printed:].encode()
        if not evidence.reports and printed < 0:
            return read_output(evidence.output)
        return _read(data, evidence)


def _read(data: bytes, evidence: Evidence) -> Reading | None:
    report = read_json(data)
    if not isinstance(report, dict) or not isinstance(report.get("tests"), list):
        return None
    pending = {_key(test) for test in objects(report, "pending")}
    failed = {_key(test): test for test in objects(report, "failures")}
    cases = []
    for test in objects(report, "tests"):
        outcome = CaseOutcome.PASSED
        if _key(test) in failed:
            outcome = CaseOutcome.FAILED
        elif _key(test) in pending:
            outcome = CaseOutcome.SKIPPED
        cases.append(_case(test, outcome, evidence))
    known = {_key(test) for test in objects(report, "tests")}
    cases += [_case(test, CaseOutcome.FAILED, evidence) for key, test in failed.items() if key not in known]
    return reading_of(cases)


def _key(test: Mapping[str, object]) -> tuple[str, str]:
    return text(test, "file"), text(test, "fullTitle")


def _case(test: Mapping[str, object], outcome: CaseOutcome, evidence: Evidence) -> Case:
    file = evidence.relative(text(test, "file"))
    name = text(test, "fullTitle")
    error = test.get("err")
    message = (text(error, "stack") or text(error, "message")) if isinstance(error, dict) else ""
    return Case(
        id=case_id(file, name),
        file=file,
        name=name,
        outcome=outcome,
        message=clipped(message),
        seconds=number(test, "duration") / 1000,
    )
