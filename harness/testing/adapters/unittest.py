"""unittest: a recorder of ours runs it and writes JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import ClassVar

from harness.testing.adapters.adapter import SCRATCH, Adapter, Evidence, Extension, Planted, asks
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.junit import read_junit
from harness.testing.plan import Runner
from harness.testing.planting import python_test

REPORT = "fixwright-results.xml"
RECORDER = "fixwright-unittest.py"


class UnittestAdapter(Adapter):
    """`python -m unittest`, as it is detected; its call is replaced by the recorder's."""

    runner: ClassVar[Runner] = Runner.UNITTEST
    captures: ClassVar[bool] = False
    strict: ClassVar[bool] = True

    def recognises(self, call: Call) -> bool:
        """Tell `python -m unittest`."""
        return call.name == "unittest"

    def silent(self, call: Call) -> str:
        """Name what only asks."""
        return asks(call, frozenset({"--help", "-h"}))

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Put the recorder there."""
        source = resources.files("harness.testing").joinpath("unittest_recorder.py").read_bytes()
        return Extension(files={RECORDER: source}, report=REPORT)

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a test case."""
        return Planted(path, python_test(text, name, functions=False)) if path.endswith(".py") else None

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; there is nothing else to go by."""
        return read_junit(evidence.reports[0]) if evidence.reports else None


def recorded(command: str) -> str:
    """Return the command with the recorder in unittest's place."""
    recorder = f"python3 {SCRATCH}/{RECORDER} {SCRATCH}/{REPORT}"
    return command.replace("python3 -m unittest", recorder, 1)
