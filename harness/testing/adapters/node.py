"""Node's own test runner: a reporter of ours, shown to it by a variable, writes one line for each result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
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
from harness.testing.json_report import MAX_BYTES, clipped, number, text, texts
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import imported_javascript_test

_REPORT = "fixwright-node.jsonl"
_REPORTER = "fixwright-node-reporter.mjs"
_MAX_CASES = 200_000
_END = b'{"end":true}'


class NodeAdapter(Adapter):
    """`node --test`, and what is started like it."""

    runner: ClassVar[Runner] = Runner.NODE

    def recognises(self, call: Call) -> bool:
        """Tell `node --test`, `tsx --test`."""
        return call.name in {"node", "nodejs", "tsx"} and any(
            word == "--test" or word.startswith("--test-") for word in call.arguments
        )

    def silent(self, call: Call) -> str:
        """Name options that only check or pretend."""
        return asks(call, frozenset({"--check", "-c", "--version", "-v", "--help", "-h"}))

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Name our reporter, beside the one that is printed."""
        source = resources.files("harness.testing").joinpath("node_reporter.mjs").read_bytes()
        options = (
            f"--test-reporter={SCRATCH}/{_REPORTER} --test-reporter-destination={SCRATCH}/{_REPORT}"
            " --test-reporter=spec --test-reporter-destination=stdout"
        )
        return Extension(env={"NODE_OPTIONS": options}, files={_REPORTER: source}, report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files, where the call names none itself."""
        return (
            "" if positional(arguments, frozenset({"--import", "-r", "--require"})) else quoted_paths(paths)
        )

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a test at the end of the file."""
        by_name = {".mjs": True, ".mts": True, ".cjs": False, ".cts": False}.get(path[-4:])
        return Planted.at(path, imported_javascript_test(text, name, "node:test", is_module=by_name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read our reporter's lines; a Node that knows no reporters prints TAP."""
        if evidence.reports and not evidence.reports[0].rstrip().endswith(_END):
            return None
        cases = list(_cases(evidence)) if evidence.reports else []
        return reading_of(cases) if cases else read_output(evidence.output)


def _cases(evidence: Evidence) -> Iterator[Case]:
    data = evidence.reports[0]
    if len(data) > MAX_BYTES:
        return
    for count, line in enumerate(data.splitlines()):
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if count > _MAX_CASES:
            return
        if isinstance(event, dict) and (case := _case(event, evidence)):
            yield case


def _case(event: Mapping[str, object], evidence: Evidence) -> Case | None:
    file = evidence.relative(text(event, "file"))
    names = texts(event, "names")
    outcome = _outcome(event)
    seconds = number(event, "ms") / 1000
    is_file = len(names) == 1 and evidence.relative(names[0]) == file
    if is_file:
        # A file stands for itself only where nothing in it could run.
        return (
            unloaded(file, clipped(text(event, "message")), seconds)
            if outcome is CaseOutcome.FAILED
            else None
        )
    if not names:
        return None
    name = " > ".join(names)
    return Case(
        id=case_id(file, name),
        file=file,
        name=name,
        outcome=outcome,
        message=clipped(text(event, "message")),
        seconds=seconds,
    )


def _outcome(event: Mapping[str, object]) -> CaseOutcome:
    if event.get("skip") not in {None, False}:
        return CaseOutcome.SKIPPED
    if event.get("todo") not in {None, False}:
        return CaseOutcome.SKIPPED
    return CaseOutcome.PASSED if event.get("passed") is True else CaseOutcome.FAILED
