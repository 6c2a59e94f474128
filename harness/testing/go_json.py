"""Reading what `go test` says: the event stream of `-json`, or the lines of `-v`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from harness.testing.cases import Case, CaseOutcome, Reading, reading_of

_OUTCOMES = {"pass": CaseOutcome.PASSED, "fail": CaseOutcome.FAILED, "skip": CaseOutcome.SKIPPED}
_WORDS = {"PASS": CaseOutcome.PASSED, "FAIL": CaseOutcome.FAILED, "SKIP": CaseOutcome.SKIPPED}
_NOT_BUILT = re.compile(r"^FAIL[ \t]+(\S{1,500}) \[(?:build|setup) failed\]")
_LINE = re.compile(r"^[ \t]*--- (PASS|FAIL|SKIP): (\S{1,500}) \(([\d.]{1,12})s\)")
_PACKAGE = re.compile(r"^(?:ok[ \t]+|FAIL[ \t]+|\?[ \t]+)(\S{1,500})(?:[ \t]+|$)")
_MOST_KEPT = 4000


def read_go_events(text: str, paths: Iterable[str] = ()) -> Reading | None:
    """Return the results in a stream of Go test events, or None if there is none to read.

    `paths` are the checkout's files, by which packages find their directories.
    """
    return _streamed(text, paths).reading()


def is_cut_short(text: str) -> bool:
    """Tell whether a package is said to have passed while a test of it that began has not ended."""
    return _streamed(text, ()).cut_short


def _streamed(text: str, paths: Iterable[str]) -> _Stream:
    stream = _Stream(_Directories(paths))
    for line in text.splitlines():
        stream.take(line)
    return stream


def read_go_lines(text: str, paths: Iterable[str] = ()) -> Reading | None:
    """Return the results that `go test -v` printed, or None if no package came to its end."""
    directories = _Directories(paths)
    cases: list[Case] = []
    waiting: list[tuple[str, CaseOutcome, float]] = []
    packages = 0
    for line in text.splitlines():
        if match := _NOT_BUILT.match(line):
            cases.append(_unbuilt(match[1], text, directories))
        elif match := _LINE.match(line):
            waiting.append((match[2], _WORDS[match[1]], float(match[3]) if match[3].count(".") < 2 else 0.0))
        elif match := _PACKAGE.match(line):
            packages += 1
            cases += [directories.case(match[1], *result) for result in waiting]
            waiting = []
    return reading_of(cases) if cases and not waiting else None


def go_output(text: str) -> str:
    """Return what the tests printed, for people: the stream's output events and its plain lines."""
    parts = []
    for line in text.splitlines(keepends=True):
        event = _event(line)
        parts.append(line if event is None else event.get("Output", ""))
    return "".join(parts)


class _Directories:
    """Knows in which directory of the checkout a package stands."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known = {path.rpartition("/")[0] for path in paths if path.endswith(".go")}

    def of(self, package: str) -> str:
        """Return a package's directory, "." for the root, or its own name where no file is known."""
        if not self._known:
            return package
        parts = package.split("/")
        for start in range(len(parts)):
            directory = "/".join(parts[start:])
            if directory in self._known:
                return directory
        return "." if "" in self._known else package

    def case(
        self, package: str, test: str, outcome: CaseOutcome, seconds: float = 0.0, message: str = ""
    ) -> Case:
        """Return a test's case, or, without a name, the one of a package that could not be built."""
        return Case(
            id=f"{package}::{test}" if test else package,
            file=self.of(package),
            name=test,
            outcome=outcome,
            message=message,
            collection=not test,
            seconds=seconds,
            directory=True,
        )


class _Stream:
    """Takes events, one by one."""

    def __init__(self, directories: _Directories) -> None:
        self._directories = directories
        self._cases: list[Case] = []
        self._with_cases: set[str] = set()
        self._output: dict[tuple[str, str], str] = {}
        self._plain: list[str] = []
        self._not_built: dict[str, None] = {}
        self._running: set[tuple[str, str]] = set()
        self.cut_short = False
        self._ended = 0

    def take(self, line: str) -> None:
        """Read one line."""
        event = _event(line)
        if event is None:
            if match := _NOT_BUILT.match(line):
                self._not_built[match[1]] = None
            if len(self._plain) < 200:
                self._plain.append(line[:500])
            return
        key = (event.get("Package", ""), event.get("Test", ""))
        action = event.get("Action", "")
        if action in {"output", "build-output"}:
            key = (event.get("ImportPath", key[0]).partition(" ")[0], key[1])
            self._output[key] = (self._output.get(key, "") + event.get("Output", ""))[-_MOST_KEPT:]
        elif action == "run":
            self._running.add(key)
        elif action in _OUTCOMES:
            self._end(key, _OUTCOMES[action], event.get("Elapsed", ""))

    def reading(self) -> Reading | None:
        """Return what was read."""
        told = "\n".join(self._plain)[-_MOST_KEPT:]
        unbuilt = [
            self._directories.case(package, "", CaseOutcome.FAILED, 0.0, told)
            for package in self._not_built
            if package not in self._with_cases
        ]
        if not self._ended or self.cut_short:
            return None
        return reading_of([*self._cases, *unbuilt])

    def _end(self, key: tuple[str, str], outcome: CaseOutcome, elapsed: str) -> None:
        self._ended += 1
        package, test = key
        message = self._output.get(key, "")
        self._running.discard(key)
        if not test and outcome is CaseOutcome.PASSED:
            self.cut_short = self.cut_short or any(other == package for other, _ in self._running)
        if test:
            self._with_cases.add(package)
            seconds = float(elapsed) if re.fullmatch(r"\d{1,8}(?:\.\d{1,12})?", elapsed) else 0.0
            self._cases.append(self._directories.case(package, test, outcome, seconds, message))
        elif outcome is CaseOutcome.FAILED and package not in self._with_cases:
            self._with_cases.add(package)
            self._cases.append(self._directories.case(package, "", outcome, 0.0, message))


def _unbuilt(package: str, text: str, directories: _Directories) -> Case:
    return directories.case(package, "", CaseOutcome.FAILED, 0.0, text[-_MOST_KEPT:])


def _event(line: str) -> dict[str, str] | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    event = {key: item for key, item in value.items() if isinstance(item, str)}
    elapsed = value.get("Elapsed")
    if isinstance(elapsed, int | float):
        event["Elapsed"] = str(elapsed)
    return event
