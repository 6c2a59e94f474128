"""Runs the contract suite on every forge and writes what held into the support matrix of the documentation.

    python -m tests.contract.matrix [--write]

Ends with one line of JSON; exits with 1 if a check failed, or if the page is not as it should be.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from app.docs import written
from domain.ports import Capability
from providers.conformance import ForgeConformance

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "forges.md"
EXAMPLE = ROOT / "examples" / "directory-forge"
BLOCK = "matrix"

FORGES = {
    "github": (ROOT, "tests/contract/test_github_forge.py::TestGithubForge"),
    "local": (ROOT, "tests/contract/test_local_forge.py::TestLocalForge"),
    "directory": (EXAMPLE, "tests/test_contract.py::TestDirectoryForge"),
}
"""Where each forge's suite is run, and what it is called there."""

AREAS = {
    "ReadingChecks": "reading: repositories, issues, comments, labels, permissions",
    "CommentingChecks": "our comments: one per topic, one per key",
    "PullingChecks": "pull requests: one of ours per branch",
    "GitChecks": "git: fetch, push, credentials",
    "HearingChecks": "webhooks: signatures, events",
    "FailingChecks": "bad days: outages, nonsense, races",
    "ExtraChecks": "claims",
}
"""What a check is about that any forge has to keep, by the class that it is in."""


def rows() -> dict[str, list[str]]:
    """Return the rows of the matrix: areas, then capabilities, each with the names of its checks."""
    found: dict[str, list[str]] = {row: [] for row in [*AREAS.values(), *(c.value for c in Capability)]}
    for name, check in inspect.getmembers(ForgeConformance, inspect.isfunction):
        if name.startswith("test_"):
            found[_row(check)].append(name)
    return found


def _row(check: Callable[..., None]) -> str:
    capability: Capability | None = getattr(check, "capability", None)
    return capability.value if capability else AREAS[check.__qualname__.partition(".")[0]]


@dataclass
class Results:
    """How the checks of one forge went, by name: a check of many parameters holds if none of them failed."""

    held: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, str]:
        """The checks of which nothing was run, and why."""
        return {name: why for name, why in self.skipped.items() if name not in self.held | self.failed}


def run(forge: str) -> Results:
    """Run the suite on a forge. Raises RuntimeError where it cannot be run at all."""
    place, target = FORGES[forge]
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", target]
        done = subprocess.run(
            [*command, f"--junitxml={report}"],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            raise RuntimeError(f"the suite could not be run on {forge}:\n{done.stdout}{done.stderr}")
        return _read(ElementTree.parse(report))


def _read(report: ElementTree.ElementTree) -> Results:
    results = Results()
    for case in report.iter("testcase"):
        name = (case.get("name") or "").partition("[")[0]
        skip = case.find("skipped")
        if skip is not None:
            results.skipped[name] = skip.get("message") or ""
        elif case.find("failure") is not None or case.find("error") is not None:
            results.failed.add(name)
        else:
            results.held.add(name)
    return results


def table(results: Mapping[str, Results]) -> str:
    """Return the matrix in Markdown, and below it what was left out and why."""
    lines = [f"| | checks | {' | '.join(results)} |", f"|---|---|{'---|' * len(results)}"]
    for row, checks in rows().items():
        if checks:
            cells = [cell(checks, found) for found in results.values()]
            lines.append(f"| {row} | {len(checks)} | {' | '.join(cells)} |")
    return "\n".join(
        [*lines, "", "Left out, beside the capabilities that are not claimed:", "", *_reasons(results)]
    )


def cell(checks: list[str], results: Results) -> str:
    """Return how many of a row's checks hold; a dash where none was run."""
    held = sum(name in results.held and name not in results.failed for name in checks)
    if any(name in results.failed for name in checks):
        return f"**{held} of {len(checks)}, some fail**"
    return "–" if not held else "all" if held == len(checks) else f"{held}"


def _reasons(results: Mapping[str, Results]) -> Iterator[str]:
    for forge, found in results.items():
        reasons: dict[str, int] = defaultdict(int)
        for why in found.left_out.values():
            if "does not claim" not in why:
                reasons[why] += 1
        for why, count in sorted(reasons.items()):
            yield f"- {forge}: {why.removeprefix(f'{forge} ')} ({count})"


def page_rows(text: str) -> list[tuple[str, int, list[str]]]:
    """Return the rows of the committed matrix: its name, how many checks, and each forge's cell."""
    block = text.partition(f"<!-- {BLOCK}:begin")[2].partition(f"<!-- {BLOCK}:end")[0]
    found = re.findall(r"^\| ([^|]+) \| (\d+) \| (.+) \|$", block, re.MULTILINE)
    return [(name, int(count), cells.split(" | ")) for name, count, cells in found]


def main() -> int:
    """Run, print the matrix and a line of JSON, and with `--write` bring the page up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = {forge: run(forge) for forge in FORGES}
    content = table(results)
    sys.stdout.write(content + "\n")
    failed = sorted({f"{forge}: {name}" for forge, found in results.items() for name in found.failed})
    for name in failed:
        sys.stdout.write(f"FAILED {name}\n")
    text = PAGE.read_text()
    wanted = written(text, BLOCK, content)
    if options.write and not failed:
        PAGE.write_text(wanted)
        text = wanted
    figures = {forge: len(found.held - found.failed) for forge, found in results.items()}
    checks = sum(len(names) for names in rows().values())
    is_right = text == wanted
    sys.stdout.write(
        json.dumps({"checks": checks, "held": figures, "failed": len(failed), "page": is_right}) + "\n"
    )
    return 1 if failed or not is_right else 0


if __name__ == "__main__":
    sys.exit(main())
