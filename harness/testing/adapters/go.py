"""go test: the event stream of `-json`, which a variable turns on behind scripts, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import Adapter, Evidence, Extension, Planted, asks
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.go_json import go_output, is_cut_short, read_go_events, read_go_lines
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import go_test_file

_QUESTIONS = frozenset({"-list", "-c", "-n", "-exec", "--list", "--exec", "-h", "-help", "--help"})


class GoAdapter(Adapter):
    """`go test`."""

    runner: ClassVar[Runner] = Runner.GO
    places: ClassVar[bool] = True

    def recognises(self, call: Call) -> bool:
        """Tell `go test`."""
        return call.texts[:2] == ("go", "test")

    def silent(self, call: Call) -> str:
        """Name options that only list, only build, or let another program say how it went."""
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Turn the event stream on; behind scripts, where it would reach `go list`, the names."""
        head = "-count=1" if "-json" in arguments else "-json -count=1"
        return Extension(head=head, behind=2, env_behind={"GOFLAGS": "-v -count=1"})

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Leave it whole: packages cannot be added to `./...` to make it fewer."""
        return ""

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a file of its own in the same package."""
        directory, sign, file = path.rpartition("/")
        if not file.endswith("_test.go"):
            return None
        return Planted.at(f"{directory}{sign}{name}_test.go", go_test_file(text, name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the events; without any, the lines that were printed."""
        paths = evidence.paths()
        events = read_go_events(evidence.output, paths)
        if events is None and is_cut_short(evidence.output):
            return None
        return events or read_go_lines(evidence.output, paths) or read_output(evidence.output)

    def shown_output(self, output: str) -> str:
        """Return what the tests printed."""
        return go_output(output)
