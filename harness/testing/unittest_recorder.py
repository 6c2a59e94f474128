"""Runs `unittest` inside the sandbox and writes its results as JUnit XML. Standard library only."""

from __future__ import annotations

import sys
import traceback
import unittest
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

RECORDS: dict[str, tuple[unittest.TestCase, str, str]] = {}
"""Test id → the test, its outcome as a JUnit tag ("" for passed), and its message."""


def _clean(text: str) -> str:
    return "".join(c for c in text if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd")


def _record(test: unittest.TestCase, outcome: str, error: Any = None) -> None:
    message = "".join(traceback.format_exception(*error)) if error else ""
    known = RECORDS.get(test.id())
    if known is None or known[1] not in ("failure", "error"):
        RECORDS[test.id()] = (test, outcome, message)


class RecordingResult(unittest.TextTestResult):
    """Prints as usual, and remembers how each test ended."""

    def addSuccess(self, test: unittest.TestCase) -> None:
        """Remember a pass."""
        super().addSuccess(test)
        _record(test, "")

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        """Remember an error."""
        super().addError(test, err)
        _record(test, "error", err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        """Remember a failure."""
        super().addFailure(test, err)
        _record(test, "failure", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Remember a skipped test."""
        super().addSkip(test, reason)
        _record(test, "skipped")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        """Count an expected failure as skipped: it says nothing good of the code."""
        super().addExpectedFailure(test, err)
        _record(test, "skipped")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        """Remember an unexpected success, which fails the run."""
        super().addUnexpectedSuccess(test)
        _record(test, "failure")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        """Count a failing part as a failure of its test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            _record(test, "failure", err)


def _place(test: unittest.TestCase) -> tuple[str, str, str, bool]:
    """Return (file, class name, name, whether the module could not be loaded)."""
    kind = type(test)
    name = getattr(test, "_testMethodName", "") or str(test)
    if kind.__name__ == "_FailedTest":
        return name.replace(".", "/") + ".py", "", name, True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    here = str(Path.cwd()) + "/"
    file = file[len(here) :] if file.startswith(here) else file
    module = file[:-3].replace("/", ".")
    return file, f"{module}.{kind.__qualname__}", name, False


def _element(test: unittest.TestCase, outcome: str, message: str) -> str:
    file, classname, name, collection = _place(test)
    body = ""
    if outcome:
        summary = "collection failure" if collection else message.strip().rsplit("\n", 1)[-1]
        text = escape(_clean(message)[-8000:])
        body = f"<{outcome} message={quoteattr(_clean(summary))}>{text}</{outcome}>"
    place = {"classname": classname, "name": name, "file": file}
    attributes = " ".join(f"{key}={quoteattr(_clean(value))}" for key, value in place.items())
    return f"<testcase {attributes}>{body}</testcase>"


def main() -> None:
    """Run `unittest` with the arguments after the report's path; exit 5 where nothing ran."""
    report = Path(sys.argv.pop(1))
    sys.path[0] = str(Path.cwd())
    make: Any = unittest.TextTestRunner
    runner = make(resultclass=RecordingResult, verbosity=1)
    arguments = ["python3 -m unittest", *sys.argv[1:]]
    program = unittest.TestProgram(module=None, argv=arguments, testRunner=runner, exit=False)
    elements = "\n".join(_element(*record) for record in RECORDS.values())
    report.write_text(
        f"<testsuites><testsuite name='unittest'>{elements}</testsuite></testsuites>\n", encoding="utf-8"
    )
    if not program.result.testsRun and program.result.wasSuccessful():
        sys.exit(5)
    sys.exit(0 if program.result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
