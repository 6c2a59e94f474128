"""cargo test: the stable text that it prints is the only stable form of results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import Adapter, Evidence, Extension, Planted, asks, case_id, unloaded
from harness.testing.calls import Call
from harness.testing.cases import Case, CaseOutcome, Reading, reading_of
from harness.testing.json_report import clipped
from harness.testing.output_lines import read_counts
from harness.testing.plan import Runner
from harness.testing.planting import rust_test

QUESTIONS = frozenset(
    {*("--no-run", "--list", "--version", "-V", "--help", "-h", "--dry-run", "--print", "--no-tests")}
)
_OUTCOMES = {
    "ok": CaseOutcome.PASSED,
    "FAILED": CaseOutcome.FAILED,
    "ignored": CaseOutcome.SKIPPED,
}
_RUNNING = re.compile(r"^[ \t]*Running (?:unittests )?(\S{1,500}) \((\S{1,1000})\)[ \t]*\r?$")
_DOCTESTS = re.compile(r"^[ \t]*Doc-tests (\S{1,200})[ \t]*\r?$")
_TEST = re.compile(
    r"^test (.{1,500}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, .{0,500})?(?: <[\d.]{1,12}s>)?\r?$"
)
_EXAMPLE = re.compile(r"(.{1,400}?) \(line (\d{1,9})\)(.{0,100})", re.DOTALL)
"""A documentation test: its line moves with whatever is written above it, and is no part of its name."""
_RESULT = re.compile(
    r"^test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored(?:; (\d{1,9}) measured)?"
)
_ANNOUNCED = re.compile(r"^running (\d{1,9}) tests?[ \t]*\r?$")
_STDOUT_OF = re.compile(r"^---- (.{1,500}?) (?:stdout|stderr) ----\r?$")
_NOT_BUILT = re.compile(r"^error: could not compile `([^`]{1,200})` \((.{1,200}?)\)")
_ERROR = re.compile(r"^(?:error(?:\[E\d+\])?: .{0,500}|[ \t]*--> .{0,300})", re.MULTILINE)


class CargoAdapter(Adapter):
    """`cargo test`."""

    runner: ClassVar[Runner] = Runner.CARGO
    places: ClassVar[bool] = True

    def recognises(self, call: Call) -> bool:
        """Tell `cargo test`, with a toolchain in front or not."""
        return call.name == "cargo" and _subcommand(call.arguments) in {"test", "t"}

    def silent(self, call: Call) -> str:
        """Name options that only build or list."""
        return asks(call, QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Let all test binaries run, whatever fails in the first."""
        head = "" if "--no-fail-fast" in arguments else "--no-fail-fast"
        subcommand = _subcommand(arguments)
        behind = 2 + arguments.index(subcommand) if subcommand else 2
        return Extension(head=head, behind=behind, env={"CARGO_TERM_COLOR": "never"})

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the test binaries, where the files are such of the root package."""
        is_whole = all(word.startswith("-") for word in arguments[1:]) and "--" not in arguments
        return integration_tests(paths) if is_whole else ""

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a function at the end of the file."""
        return Planted.at(path, rust_test(text, name)) if path.endswith(".rs") else None

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the lines, binary by binary; where their number is not what each one counted, only counts."""
        sections = _Sections(evidence)
        for line in evidence.output.splitlines():
            sections.take(line)
        unbuilt = list(unbuilt_targets(evidence))
        cases = [*sections.finished(), *unbuilt]
        if cases and (sections.agrees or (unbuilt and not sections.begun)):
            return reading_of(cases)
        return read_counts(evidence.output)


class _Sections:
    """Goes through the output line by line, and knows which binary's tests it is reading."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._file = self._label = ""
        self._open: dict[str, CaseOutcome] = {}
        self._cases: dict[str, Case] = {}
        self._messages: dict[str, list[str]] = {}
        self._told = ""
        self._announced: int | None = None
        self.agrees = True
        self._sections = 0

    def take(self, line: str) -> None:
        """Read one line."""
        if match := _RUNNING.match(line):
            self._begin(match[1], _crate(match[2]))
        elif match := _DOCTESTS.match(line):
            self._begin("", f"doc-tests {match[1]}")
        elif match := _ANNOUNCED.match(line):
            self.agrees = self.agrees and self._announced is None
            self._announced = int(match[1])
        elif match := _TEST.match(line):
            self._open[match[1]] = _OUTCOMES[match[2]]
        elif match := _STDOUT_OF.match(line):
            self._told = match[1]
        elif match := _RESULT.match(line):
            self._end((int(match[1]), int(match[2]), int(match[3])), int(match[4] or 0))
        elif self._told:
            self._messages.setdefault(self._told, []).append(line)

    def finished(self) -> list[Case]:
        """Return the cases. A binary that began and did not end makes the reading disagree."""
        if self._open or not self._sections or self._announced is not None:
            self.agrees = False
        return list(self._cases.values())

    @property
    def begun(self) -> bool:
        """Whether any binary's tests have run."""
        return bool(self._sections or self._open)

    def _begin(self, path: str, crate: str) -> None:
        if self._open or self._announced is not None:
            self.agrees = False
        self._announced = None
        self._open, self._messages, self._told = {}, {}, ""
        self._file = _source(path, crate, self._evidence) if path else ""
        self._label = self._file or (f"{crate}/{path}" if path else crate)

    def _end(self, counted: tuple[int, int, int], measured: int) -> None:
        outcomes = list(self._open.values())
        seen = tuple(
            outcomes.count(outcome)
            for outcome in (CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.SKIPPED)
        )
        is_announced = self._announced in {None, sum(counted) + measured}
        self.agrees = self.agrees and seen == counted and is_announced
        self._announced = None
        self._sections += 1
        names = _lasting(self._open)
        for reported, outcome in self._open.items():
            name = names[reported]
            file = self._file_of(name)
            identity = f"{self._label}::{name}"
            message = clipped("\n".join(self._messages.get(reported, [])).strip())
            self._cases[identity] = Case(id=identity, file=file, name=name, outcome=outcome, message=message)
        self._open, self._told = {}, ""

    def _file_of(self, name: str) -> str:
        """Return the file of a unit test, which stands in the module that its name begins with."""
        if not self._file:  # a documentation test: `src/lib.rs - twice (line 5)`
            path = name.partition(" - ")[0]
            return self._evidence.find(path) or path
        return module_file(self._file, name, self._evidence.paths())


def module_file(root_file: str, name: str, known: frozenset[str]) -> str:
    """Return the file of a unit test: that of the innermost module in its name that has one of its own."""
    root = root_file.rpartition("/")[0]
    modules = name.split("::")[:-1]
    for length in range(len(modules), 0, -1):
        stem = "/".join(filter(None, [root, *modules[:length]]))
        for path in (f"{stem}.rs", f"{stem}/mod.rs"):
            if path in known:
                return path
    return root_file


def integration_tests(paths: Sequence[str]) -> str:
    """Return the options that name these files' test binaries, "" where one is none of the root package's."""
    names = [match[1] for path in paths if (match := re.fullmatch(r"tests/([\w-]+)\.rs", path))]
    return " ".join(f"--test {name}" for name in names) if len(names) == len(paths) else ""


def _lasting(reported: Iterable[str]) -> dict[str, str]:
    """Return names that do not change when lines move: the second example of an item is `… #2`."""
    names = {each: each for each in reported}
    matches = [match for each in names if (match := _EXAMPLE.fullmatch(each))]
    seen: Counter[str] = Counter()
    for match in sorted(matches, key=lambda match: int(match[2])):
        plain = match[1] + match[3]
        seen[plain] += 1
        names[match[0]] = plain if seen[plain] == 1 else f"{plain} #{seen[plain]}"
    return names


def _subcommand(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if not word.startswith(("-", "+"))), "")


def _crate(binary: str) -> str:
    return binary.rsplit("/", 1)[-1].rsplit("-", 1)[0]


def _source(path: str, crate: str, evidence: Evidence) -> str:
    """Return the source of a test binary below the root; in a workspace, cargo names it below its package."""
    known = evidence.paths()
    endings = [candidate for candidate in known if candidate == path or candidate.endswith("/" + path)]
    if len(endings) == 1:
        return endings[0]
    for candidate in sorted(endings):
        package = candidate[: -len(path)].rstrip("/").rsplit("/", 1)[-1].replace("-", "_")
        if package == crate:
            return candidate
    return path if path in known and path.startswith("tests/") else ""


def unbuilt_targets(evidence: Evidence) -> Iterator[Case]:
    """Yield a case for each target that did not compile."""
    found = [match for line in evidence.output.splitlines() if (match := _NOT_BUILT.match(line))]
    if not found:
        return
    message = clipped("\n".join(match[0] for match in _ERROR.finditer(evidence.output)))
    for match in found:
        target = re.search(r'test "([\w-]+)"', match[2])
        file = evidence.find(f"tests/{target[1]}.rs") if target else ""
        yield unloaded(case_id(file, "") or f"{match[1]} ({match[2]})", message)
