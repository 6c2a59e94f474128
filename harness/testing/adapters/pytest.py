"""pytest, and what runs it for us: tox and nox. Results come as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from harness.testing.adapters.adapter import (
    SCRATCH,
    WORK,
    Adapter,
    Evidence,
    Extension,
    Planted,
    asks,
    positional,
    quoted_paths,
)
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.junit import read_junit
from harness.testing.plan import Runner
from harness.testing.planting import python_test

REPORT = "fixwright-results.xml"
_OPTIONS = (
    "-p no:cacheprovider -p no:randomly -o junit_family=xunit1 --continue-on-collection-errors --maxfail=0"
    f" --color=no --tb=short --junitxml={SCRATCH}/{REPORT}"
)
_QUESTIONS = frozenset(
    {
        *("--version", "-V", "--help", "-h", "--collect-only", "--co", "--collectonly", "--markers"),
        *("--fixtures", "--funcargs", "--fixtures-per-test", "--setup-plan", "--setup-only", "--setuponly"),
        *("--setupplan", "--cache-show"),
    }
)
_WITH_VALUES = frozenset(
    {*("-k", "-m", "-o", "-p", "-c", "-n", "-W", "-r", "--tb", "--durations", "--ignore", "--cov", "--dist")}
)


class PytestAdapter(Adapter):
    """pytest, called as itself."""

    runner: ClassVar[Runner] = Runner.PYTEST
    captures: ClassVar[bool] = False
    strict: ClassVar[bool] = True

    def recognises(self, call: Call) -> bool:
        """Tell `pytest`, `py.test` and `python -m pytest`."""
        return call.name in {"pytest", "py.test"}

    def silent(self, call: Call) -> str:
        """Name options that only collect or pretend."""
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for a report, by options and by the variable that reaches it behind scripts."""
        # Without a fixed root, pytest names tests after the common directory of the files it is given.
        options = f"{_OPTIONS} --rootdir={WORK}"
        behind = {"PYTEST_ADDOPTS": _OPTIONS, "TOX_OVERRIDE": _let_through(arguments)}
        return Extension(options=options, env_behind=behind, report=REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the files, where the call names none itself."""
        return "" if positional(arguments, _WITH_VALUES) else quoted_paths(paths)

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a function, and a method where there are test cases."""
        return Planted(path, python_test(text, name, functions=True)) if path.endswith(".py") else None

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; there is nothing else to go by."""
        return read_junit(evidence.reports[0]) if evidence.reports else None


class ToxAdapter(PytestAdapter):
    """tox and nox: they start pytest, which is reached by a variable only."""

    def recognises(self, call: Call) -> bool:
        """Tell `tox` and `nox`."""
        return call.name in {"tox", "nox"}

    def silent(self, call: Call) -> str:
        """Name what only lists or installs."""
        questions = {
            *("--notest", "-n", "--listenvs", "-l", "--listenvs-all", "-a", "--showconfig", "--devenv"),
            *("--list", "--install-only", "--help", "-h", "--version", "--sdistonly"),
        }
        if call.name == "nox":
            questions -= {"-n", "-a"}
        if call.arguments[:1] and call.arguments[0] in {
            "config",
            "c",
            "list",
            "l",
            "devenv",
            "d",
            "quickstart",
        }:
            return f"`tox {call.arguments[0]}` runs no tests"
        return asks(call, frozenset(questions))

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Leave it whole: what tox does with its positional arguments is the repository's affair."""
        return ""


def _let_through(arguments: Sequence[str]) -> str:
    """Return what makes tox hand the variable on: nothing gets through that its file does not name."""
    sections = ["testenv", "env_run_base", "tool.tox.env_run_base"]
    for position, word in enumerate(arguments):
        value = word[2:].lstrip("=") if re.match(r"-e[=\w]", word) else ""
        if word == "-e":
            value = "".join(arguments[position + 1 : position + 2])
        sections += [f"testenv:{name}" for name in re.findall(r"[\w.-]+", value)]
    return ";".join(f"{section}.pass_env+=PYTEST_ADDOPTS" for section in sections)
