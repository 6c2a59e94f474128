"""Maven and Gradle: both leave one JUnit XML file for each test class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import ClassVar

from harness.testing.adapters.adapter import Adapter, Evidence, Extension, Planted, asks
from harness.testing.calls import Call
from harness.testing.cases import Reading, reading_of
from harness.testing.junit import RawCase, read_junit
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner
from harness.testing.planting import jvm_test

_MAVEN_SKIPS = ("-DskipTests", "-Dmaven.test.skip", "-DskipITs=true", "-Dmaven.test.skip.exec")
_MAVEN_HIDES = ("-Dmaven.test.failure.ignore", "-DtestFailureIgnore", "-Dsurefire.testFailureIgnore")
_PHASES = frozenset({"test", "package", "verify", "install", "deploy", "integration-test", "prepare-package"})
_SUFFIXES = (".java", ".kt", ".groovy", ".scala")


class _JvmAdapter(Adapter):
    """What both have in common: how reports are read."""

    patterns: ClassVar[tuple[str, ...]] = ()

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Look for the reports where the tool leaves them."""
        return Extension(reports=self.patterns)

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Plant a method in the test class."""
        if not path.endswith((".java", ".kt")):
            return None
        return Planted.at(path, jvm_test(text, name, is_kotlin=path.endswith(".kt")))

    def read(self, evidence: Evidence) -> Reading | None:
        """Read all reports together; one that is broken makes the whole reading so."""
        if not evidence.reports:
            return read_output(evidence.output)
        sources = _sources(evidence)
        readings = [read_junit(data, place=lambda case: _place(case, sources)) for data in evidence.reports]
        if any(reading is None for reading in readings):
            return None
        return reading_of(case for reading in readings if reading for case in reading.cases.values())


class MavenAdapter(_JvmAdapter):
    """Maven with surefire and failsafe."""

    runner: ClassVar[Runner] = Runner.MAVEN
    places: ClassVar[bool] = True
    patterns: ClassVar[tuple[str, ...]] = (
        "target/surefire-reports/TEST-*.xml",
        "target/failsafe-reports/TEST-*.xml",
    )

    def recognises(self, call: Call) -> bool:
        """Tell `mvn` and its wrapper."""
        return call.name in {"mvn", "mvnw", "mvnd", "mvnw.cmd"}

    def silent(self, call: Call) -> str:
        """Name what skips tests, hides that they fail, or stops before them."""
        for word in _with_environment(call):
            value = word.partition("=")[2].lower()
            if word.startswith(_MAVEN_SKIPS) and value != "false":
                return f"`{word}` skips the tests"
            if word.startswith(_MAVEN_HIDES) and value != "false":
                return f"`{word}` hides a failure"
            if word in {"-fn", "--fail-never"}:
                return f"`{word}` hides a failure"
        goals = [word for word in call.arguments if not word.startswith("-")]
        if not any(goal in _PHASES or "surefire" in goal or "failsafe" in goal for goal in goals):
            return f"`mvn {' '.join(goals)[:40]}` ends before the test phase"
        return asks(call, frozenset({"--version", "-v", "--help", "-h"}))

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Name the classes, which the files are named after."""
        names = [PurePosixPath(path).stem for path in paths if path.endswith(_SUFFIXES)]
        if len(names) < len(paths) or any(word.startswith("-Dtest=") for word in arguments):
            return ""
        none_is_fine = "-Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false"
        return f"-Dtest={','.join(sorted(set(names)))} {none_is_fine}"


class GradleAdapter(_JvmAdapter):
    """Gradle."""

    runner: ClassVar[Runner] = Runner.GRADLE
    places: ClassVar[bool] = True
    patterns: ClassVar[tuple[str, ...]] = ("build/test-results/*/TEST-*.xml",)

    def recognises(self, call: Call) -> bool:
        """Tell `gradle` and its wrapper."""
        return call.name in {"gradle", "gradlew"}

    def silent(self, call: Call) -> str:
        """Name what leaves tests out, pretends, or stops before them."""
        words = call.arguments
        for position, word in enumerate(words):
            excluded = words[position + 1 : position + 2] if word in {"-x", "--exclude-task"} else ()
            if excluded and excluded[0].rsplit(":", 1)[-1] in {"test", "check", "allTests"}:
                return f"`{word} {excluded[0]}` leaves the tests out"
        tasks = [word.rsplit(":", 1)[-1] for word in words if not word.startswith("-")]
        if not any("test" in task.lower() or task in {"check", "build"} for task in tasks):
            return f"`gradle {' '.join(tasks)[:40]}` runs no tests"
        questions = {
            "--dry-run",
            "-m",
            "--version",
            "-v",
            "--help",
            "-h",
            "--test-dry-run",
            "--status",
            "--stop",
        }
        return asks(call, frozenset(questions))

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Look for the reports; results of an earlier run do not count, and all projects are tested."""
        return Extension(options="--continue --no-build-cache", reports=self.patterns)


def _with_environment(call: Call) -> list[str]:
    inside = [word for assignment in call.assignments for word in assignment.partition("=")[2].split()]
    return [*call.arguments, *inside]


def _sources(evidence: Evidence) -> dict[str, str]:
    """Return dotted class name → file for the sources that are named after their class."""
    found: dict[str, str] = {}
    for path in evidence.paths():
        if path.endswith(_SUFFIXES):
            for root in ("/java/", "/kotlin/", "/groovy/", "/scala/"):
                before, sign, after = ("/" + path).partition(root)
                if sign and "/src/" in before + "/":
                    found[after.rpartition(".")[0].replace("/", ".")] = path
    return found


def _place(case: RawCase, sources: dict[str, str]) -> tuple[str, str]:
    """Return the file of a class, and the test's name with its nested classes."""
    outer, sign, nested = case.classname.partition("$")
    file = sources.get(outer, "")
    name = case.name.removesuffix("()")
    if file:
        return file, "::".join([*nested.split("$"), name] if sign else [name])
    return "", f"{case.classname}::{name}" if case.classname else name
