"""vitest: results as its JSON report, which has jest's form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import (
    SCRATCH,
    Adapter,
    Evidence,
    Extension,
    Planted,
    asks,
    positional,
    quoted_paths,
)
from harness.testing.adapters.jest import read_jest
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import imported_javascript_test

_REPORT = "fixwright-vitest.json"
_QUESTIONS = frozenset({"--version", "-v", "--help", "-h", "--clearCache", "--mergeReports"})
_MODES = frozenset({"run", "watch", "dev", "related", "bench", "list", "init", "typecheck"})


class VitestAdapter(Adapter):
    """vitest."""

    runner: ClassVar[Runner] = Runner.VITEST
    by_environment: ClassVar[bool] = False

    def recognises(self, call: Call) -> bool:
        """Tell `vitest`."""
        return call.name == "vitest"

    def silent(self, call: Call) -> str:
        """Name what only lists or measures."""
        if call.arguments[:1] and call.arguments[0] in {"list", "init", "bench"}:
            return f"`vitest {call.arguments[0]}` runs no tests"
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report in a file, beside the usual output."""
        options = (
            "--sequence.shuffle=false --reporter=default --reporter=json"
            f" --outputFile.json={SCRATCH}/{_REPORT}"
        )
        return Extension(options=options, report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files: vitest runs those whose path holds what is given."""
        given = [word for word in positional(arguments) if word not in _MODES]
        return "" if given else quoted_paths(paths).replace("./", "")

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a test at the end of the file."""
        return Planted.at(path, imported_javascript_test(text, name, "vitest", is_module=True))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; without one, the counts that were printed."""
        if not evidence.reports:
            return read_output(evidence.output)
        return read_jest(evidence.reports[0], evidence)
