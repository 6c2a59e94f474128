"""Reading the event stream of `go test -json`."""

from __future__ import annotations

import json

from harness.testing.cases import Case, CaseOutcome, Reading, reading_of

_OUTCOMES = {"pass": CaseOutcome.PASSED, "fail": CaseOutcome.FAILED, "skip": CaseOutcome.SKIPPED}


def read_go_events(text: str) -> Reading | None:
    """Return the results in a stream of Go test events, or None if there is none to read."""
    cases: list[Case] = []
    output: dict[tuple[str, str], str] = {}
    packages = 0
    for line in text.splitlines():
        event = _event(line)
        if event is None:
            continue
        key = (event.get("Package", ""), event.get("Test", ""))
        action = event.get("Action", "")
        if action == "output":
            output[key] = (output.get(key, "") + event.get("Output", ""))[-4000:]
        elif action in _OUTCOMES:
            packages += 1
            cases += _finished(
                key, _OUTCOMES[action], output.get(key, ""), any(c.file == key[0] for c in cases)
            )
    return reading_of(cases) if packages else None


def go_output(text: str) -> str:
    """Return what the tests printed, for people: the stream's output events and its plain lines."""
    parts = []
    for line in text.splitlines(keepends=True):
        event = _event(line)
        parts.append(line if event is None else event.get("Output", ""))
    return "".join(parts)


def _event(line: str) -> dict[str, str] | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return {key: item for key, item in value.items() if isinstance(item, str)}


def _finished(key: tuple[str, str], outcome: CaseOutcome, message: str, has_cases: bool) -> list[Case]:
    package, test = key
    if test:
        return [Case(id=f"{package}::{test}", file=package, name=test, outcome=outcome, message=message)]
    if outcome is CaseOutcome.FAILED and not has_cases:
        return [Case(id=package, file=package, name="", outcome=outcome, message=message, collection=True)]
    return []
