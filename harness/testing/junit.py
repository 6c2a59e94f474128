"""Reading JUnit XML that the tested code could have written itself: no entities, bounded, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from xml.parsers import expat

from harness.testing.cases import Case, CaseOutcome, Reading, reading_of
from harness.testing.json_report import clipped

MAX_BYTES = 32 * 2**20
MAX_CASES = 200_000
MAX_DEPTH = 16
MAX_MESSAGE = 4000
_IDLE = frozenset({"disabled", "notrun", "skipped", "pending"})
"""Words by which CTest and GoogleTest say that a test was not run."""


@dataclass(frozen=True, slots=True)
class RawCase:
    """A test case as the report names it."""

    file: str
    classname: str
    name: str


Place = Callable[[RawCase], tuple[str, str]]
"""Says which file a test is in, and what it is called there: most tools have their own way."""


class _Collector:
    """Takes test cases out of a stream of XML events."""

    def __init__(self, place: Place | None) -> None:
        self._place = place
        self.cases: list[Case] = []
        self.saw_suite = False
        self._depth = 0
        self._attributes: dict[str, str] | None = None
        self._outcome = CaseOutcome.PASSED
        self._message: list[str] = []
        self._inside = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        self._depth += 1
        if self._depth > MAX_DEPTH or len(self.cases) > MAX_CASES:
            raise ValueError("nested too deeply or too many test cases")
        self.saw_suite = self.saw_suite or tag == "testsuite"
        if tag == "testcase":
            self._attributes, self._message = attributes, []
            idle = attributes.get("status", "").lower() in _IDLE or attributes.get("result") == "suppressed"
            self._outcome = CaseOutcome.SKIPPED if idle else CaseOutcome.PASSED
        elif self._attributes is not None and tag in {"failure", "error"}:
            self._outcome = CaseOutcome.FAILED
            self._inside = tag
            self._message.append(attributes.get("message", "")[:MAX_MESSAGE] + "\n")
        elif self._attributes is not None and tag == "skipped" and self._outcome is CaseOutcome.PASSED:
            self._outcome = CaseOutcome.SKIPPED

    def text(self, data: str) -> None:
        """Keep the text of a failure."""
        if self._inside and sum(map(len, self._message)) < MAX_MESSAGE * 4:
            self._message.append(data)

    def end(self, tag: str) -> None:
        """Close an element."""
        self._depth -= 1
        if tag == self._inside:
            self._inside = ""
            self._message.append("\n")
        if tag == "testcase" and self._attributes is not None:
            self.cases.append(_case(self._attributes, self._outcome, "".join(self._message), self._place))
            self._attributes = None


def read_junit(data: bytes, *, place: Place | None = None) -> Reading | None:
    """Return the results in a JUnit XML report, or None if it is not one that can be trusted to be whole.

    Without a `place`, tests are named as pytest names them.
    """
    if len(data) > MAX_BYTES:
        return None
    collector = _Collector(place)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.text
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError):
        return None
    return reading_of(collector.cases) if collector.saw_suite else None


def _refuse(*_: object) -> None:
    raise ValueError("a test report has no business with a document type or entities")


def _case(attributes: dict[str, str], outcome: CaseOutcome, message: str, place: Place | None) -> Case:
    file = attributes.get("file", "").removeprefix("./")
    classname, name = attributes.get("classname", ""), attributes.get("name", "")
    seconds = _seconds(attributes.get("time", ""))
    if place is not None:
        file, name = place(RawCase(file, classname or attributes.get("class", ""), name))
        identity = f"{file}::{name}" if file else name
        return Case(
            id=identity, file=file, name=name, outcome=outcome, message=clipped(message), seconds=seconds
        )
    if "collection failure" in message[:40]:
        file = file or name.replace(".", "/") + ".py"
        return Case(id=file, file=file, name="", outcome=outcome, message=_tail(message), collection=True)
    return _named_case(
        file,
        classname,
        name,
        Case(id="", file="", name="", outcome=outcome, message=_tail(message), seconds=seconds),
    )


def _named_case(file: str, classname: str, name: str, case: Case) -> Case:
    """Give a test the id that pytest prints: file, classes and name between double colons."""
    module = file.removesuffix(".py").replace("/", ".")
    classes = classname
    if file:
        classes = "" if classname == module else classname.removeprefix(module + ".")
        if classes == classname and classname.rsplit(".", 1)[-1] == module.rsplit(".", 1)[-1]:
            classes = ""
    qualified = "::".join([*filter(None, classes.split(".")), name])
    identity = f"{file}::{qualified}" if file else qualified
    return replace(case, id=identity, file=file, name=qualified)


def _seconds(text: str) -> float:
    """Return a duration as the report has it; some tools group thousands."""
    try:
        seconds = float(text[:32].replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e9 else 0.0


def _tail(message: str) -> str:
    return message[-MAX_MESSAGE:]
