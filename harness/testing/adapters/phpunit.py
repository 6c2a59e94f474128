"""PHPUnit, and Pest on top of it: results as JUnit XML."""

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
from harness.testing.calls import Call
from harness.testing.cases import Reading
from harness.testing.junit import read_junit
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import php_test

_REPORT = "fixwright-phpunit.xml"
_QUESTIONS = frozenset(
    {
        *(
            "--list-tests",
            "--list-groups",
            "--list-suites",
            "--list-tests-xml",
            "--list-test-files",
            "--version",
        ),
        *("--check-version", "--help", "-h", "--generate-configuration", "--migrate-configuration"),
        *("--atleast-version", "--warm-coverage-cache", "--check-php-configuration"),
    }
)


class PhpunitAdapter(Adapter):
    """PHPUnit."""

    runner: ClassVar[Runner] = Runner.PHPUNIT
    by_environment: ClassVar[bool] = False

    def recognises(self, call: Call) -> bool:
        """Tell `phpunit`, `pest` and `php vendor/bin/phpunit`."""
        if call.name == "php":
            return any(
                word.rsplit("/", 1)[-1] in {"phpunit", "phpunit.phar", "pest"} for word in call.arguments[:3]
            )
        return call.name in {"phpunit", "pest", "simple-phpunit", "phpunit.phar"}

    def silent(self, call: Call) -> str:
        """Name options that only list."""
        return asks(call, _QUESTIONS)

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Ask for the report in a file."""
        return Extension(options=f"--order-by=default --log-junit {SCRATCH}/{_REPORT}", report=_REPORT)

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the file: PHPUnit takes one only."""
        with_values = frozenset(
            {"-c", "--configuration", "--testsuite", "--group", "--filter", "--bootstrap", "-d"}
        )
        is_one = len(paths) == 1 and not positional(arguments, with_values)
        return quoted_paths(paths) if is_one else ""

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a method, or Pest's closure."""
        return Planted.at(path, php_test(text, name))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read the report; without one, the counts that were printed."""
        if not evidence.reports:
            return read_output(evidence.output)
        # Pest writes the test's name behind the file, with two colons between them.
        return read_junit(
            evidence.reports[0],
            place=lambda case: (evidence.relative(case.file.partition("::")[0]), case.name),
        )
