"""RSpec: results as its JSON, which a variable turns on behind rake and make, too."""

from __future__ import annotations

import re
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
from harness.testing.planting import ruby_example

_REPORT = "fixwright-rspec.json"
_OUTCOMES = {"passed": CaseOutcome.PASSED, "failed": CaseOutcome.FAILED, "pending": CaseOutcome.SKIPPED}
_LOADING = re.compile(r"An error occurred while loading (\S{1,500}?)\.(?:\s|$)")


class RspecAdapter(Adapter):
    """RSpec."""

    runner: ClassVar[Runner] = Runner.RSPEC

    def recognises(self, call: Call) -> bool:
        """Tell `rspec`."""
        return call.name == "rspec"

    def silent(self, call: Call) -> str:
        """Name options that pretend, or that change the exit status of a failure."""
        for position, word in enumerate(call.arguments):
            value = word.partition("=")[2] or "".join(call.arguments[position + 1 : position + 2])
            if word.startswith("--failure-exit-code") and value == "0":
                return "`--failure-exit-code 0` hides a failure"
        return asks(call, frozenset({"--dry-run", "--version", "-v", "--help", "-h", "--init", "--bisect"}))

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report beside the dots."""
        options = f"--no-fail-fast --order defined --format json --out {SCRATCH}/{_REPORT} --format progress"
        return Extension(env={"SPEC_OPTS": options}, report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files, where the call names none itself."""
        with_values = frozenset(
            {"--format", "-f", "--out", "-o", "--tag", "-t", "--require", "-r", "-I", "--seed"}
        )
        return "" if positional(arguments, with_values) else quoted_paths(paths)

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant an example group of its own."""
        return Planted.at(path, ruby_example(text, name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; without one, the counts that were printed."""
        if not evidence.reports:
            return read_output(evidence.output)
        report = read_json(evidence.reports[0])
        if not isinstance(report, dict) or not isinstance(report.get("examples"), list):
            return None
        cases = [case for example in objects(report, "examples") if (case := _case(example, evidence))]
        return reading_of([*cases, *_unloaded(report, evidence)])


def _case(example: Mapping[str, object], evidence: Evidence) -> Case | None:
    outcome = _OUTCOMES.get(text(example, "status"))
    if outcome is None:
        return None
    file = evidence.relative(text(example, "file_path"))
    name = text(example, "full_description")
    error = example.get("exception")
    message = ""
    if isinstance(error, dict):
        message = "\n".join(
            [f"{text(error, 'class')}: {text(error, 'message')}", *texts(error, "backtrace")[:20]]
        )
    return Case(
        id=case_id(file, name),
        file=file,
        name=name,
        outcome=outcome,
        message=clipped(message),
        seconds=number(example, "run_time"),
    )


def _unloaded(report: Mapping[str, object], evidence: Evidence) -> Iterator[Case]:
    """Yield a case for each file that could not be loaded; then RSpec runs nothing at all."""
    for message in texts(report, "messages"):
        if match := _LOADING.search(message):
            yield unloaded(evidence.relative(match[1]), clipped(message))
