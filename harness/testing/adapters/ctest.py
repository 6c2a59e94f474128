"""CTest: results as JUnit XML; a test is named by the build, and has no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import SCRATCH, Adapter, Evidence, Extension, asks
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.junit import read_junit
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner

_REPORT = "fixwright-ctest.xml"


class CtestAdapter(Adapter):
    """CTest."""

    runner: ClassVar[Runner] = Runner.CTEST
    by_environment: ClassVar[bool] = False

    def recognises(self, call: Call) -> bool:
        """Tell `ctest`."""
        return call.name == "ctest"

    def silent(self, call: Call) -> str:
        """Name options that only list."""
        questions = {
            *("-N", "--show-only", "--print-labels", "--version", "-V=", "--help", "-h", "--list-presets")
        }
        return asks(call, frozenset(questions))

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report in a file, and for what failing tests print."""
        return Extension(options=f"--output-on-failure --output-junit {SCRATCH}/{_REPORT}", report=_REPORT)

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; without one (CTest before 3.21), the counts that were printed."""
        if not evidence.reports:
            return read_output(evidence.output)
        return read_junit(evidence.reports[0], place=lambda case: ("", case.name))
