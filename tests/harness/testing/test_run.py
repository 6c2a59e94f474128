"""Real runs of real runners, and what is made of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from domain.model import RunStatus
from domain.repo_config import TestSection
from harness.testing.cases import Observed
from harness.testing.diagnosis import ProblemKind, diagnose
from harness.testing.run import RunRequest, TestBench
from tests.harness.testing.doubles import GitTrees, PlainSandbox


def run(
    tmp_path: Path,
    files: dict[str, str],
    *,
    command: str | None = None,
    path: str | None = None,
    deadline: float = 60,
    targets: tuple[str, ...] = (),
) -> Observed:
    trees = GitTrees(tmp_path)
    tree = trees.tree(files)
    bench = TestBench(PlainSandbox(path) if path else PlainSandbox(), trees)
    plan = bench.detect(tree, TestSection(command=command))
    assert plan is not None
    return bench.run(
        RunRequest(name="base", plan=plan, tree=tree, deadline_seconds=deadline, targets=targets)
    )


def kind(observed: Observed) -> ProblemKind | None:
    problem = diagnose(observed)
    if problem is not None:
        assert problem.what and problem.fix
    return problem.kind if problem else None


MIXED = (
    "import pytest\n\n\ndef test_ok():\n    pass\n\n\n"
    "@pytest.mark.parametrize('x', [1, 2])\ndef test_p(x):\n    assert x == 1\n\n\n"
    "class TestB:\n    def test_c(self):\n        pass\n\n    def test_s(self):\n        pytest.skip('x')\n"
)


def test_pytest_gives_single_results(tmp_path: Path) -> None:
    observed = run(
        tmp_path, {"tests/test_a.py": MIXED, "tests/test_b.py": "import nowhere\n\ndef test_x(): pass\n"}
    )

    assert observed.run.status is RunStatus.FAILED
    assert (observed.run.passed, observed.run.failed, observed.run.skipped) == (3, 2, 1)
    assert observed.run.passed_ids == {
        "tests/test_a.py::test_ok",
        "tests/test_a.py::test_p[1]",
        "tests/test_a.py::TestB::test_c",
    }
    assert observed.run.failed_ids == {"tests/test_a.py::test_p[2]", "tests/test_b.py"}
    assert observed.cases["tests/test_b.py"].collection
    assert "assert 2 == 1" in observed.run.tail
    assert kind(observed) is None


@pytest.mark.long
def test_single_files_keep_their_names(tmp_path: Path) -> None:
    files = {"tests/unit/test_a.py": MIXED, "tests/test_b.py": "def test_x(): pass\n"}
    observed = run(tmp_path, files, targets=("tests/unit/test_a.py",))

    assert "tests/unit/test_a.py::test_ok" in observed.run.passed_ids
    assert observed.run.passed == 3


@pytest.mark.long
def test_pytest_behind_another_command_gives_single_results_too(tmp_path: Path) -> None:
    observed = run(
        tmp_path, {"tests/test_a.py": MIXED, "Makefile": "test:\n\t@python3 -m pytest\n"}, command="make test"
    )
    assert observed.run.status is RunStatus.COULD_NOT_TELL or observed.run.failed == 1

    observed = run(tmp_path / "b", {"tests/test_a.py": MIXED}, command="cd tests && python3 -m pytest")
    assert observed.run.status is RunStatus.FAILED
    assert "tests/test_a.py::test_ok" in observed.run.passed_ids


UNITTEST = (
    "import unittest\n\n\nclass A(unittest.TestCase):\n"
    "    def test_ok(self):\n        pass\n\n"
    "    def test_bad(self):\n        self.assertEqual(1, 2)\n\n"
    "    def test_parts(self):\n        with self.subTest(i=1):\n            self.fail('<x>&')\n\n"
    "    @unittest.skip('x')\n    def test_s(self):\n        pass\n"
)


def test_unittest_gives_single_results(tmp_path: Path) -> None:
    files = {
        "tests/__init__.py": "",
        "tests/test_a.py": UNITTEST,
        "tests/test_b.py": "import nowhere\n",
    }
    observed = run(tmp_path, files)

    assert observed.run.command == "python3 -m unittest discover -s tests -t ."
    assert observed.run.status is RunStatus.FAILED
    assert observed.run.passed_ids == {"tests/test_a.py::A::test_ok"}
    assert observed.run.failed_ids == {
        "tests/test_a.py::A::test_bad",
        "tests/test_a.py::A::test_parts",
        "tests/test_b.py",
    }
    assert observed.cases["tests/test_b.py"].collection


def test_a_green_unittest_suite_passes(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        {"test_a.py": "import unittest\n\nclass A(unittest.TestCase):\n    def test_x(self): pass\n"},
    )

    assert observed.run.status is RunStatus.PASSED
    assert kind(observed) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("import pytest\n\npytestmark = pytest.mark.skip\n\ndef test_x(): pass\n", "skipped"),
        (
            "import pytest\n\nclass TestX:\n    def __init__(self): pass\n    def test_x(self): pass\n",
            "no tests ran",
        ),
    ],
)
def test_nothing_that_ran_is_no_pass(tmp_path: Path, source: str, note: str) -> None:
    observed = run(tmp_path, {"test_a.py": source})

    assert observed.run.status is RunStatus.NO_TESTS
    assert note in observed.run.note
    assert kind(observed) is ProblemKind.NO_TESTS


@pytest.mark.long
def test_an_exit_status_of_zero_with_failures_is_never_a_pass(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        {
            "test_a.py": "def test_x():\n    assert 0\n",
            "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
        },
    )

    assert observed.run.status is RunStatus.COULD_NOT_TELL


@pytest.mark.long
def test_a_run_that_does_not_end_is_timed_out(tmp_path: Path) -> None:
    observed = run(tmp_path, {"a": ""}, command="echo 500 passed; exec sleep 60", deadline=0.5)
    assert observed.run.status is RunStatus.NOT_EVIDENCE or observed.run.status is RunStatus.TIMED_OUT

    observed = run(
        tmp_path / "b", {"watch.sh": "echo 5 passed\nsleep 60\n"}, command="bash watch.sh", deadline=0.5
    )
    assert observed.run.status is RunStatus.TIMED_OUT
    assert "watch mode?" in observed.run.note
    assert kind(observed) is ProblemKind.TIMEOUT


@pytest.mark.parametrize(
    ("script", "status", "problem"),
    [
        ("vitest run", RunStatus.COULD_NOT_RUN, ProblemKind.TOOL_MISSING),
        ("echo 'connect ECONNREFUSED 127.0.0.1:5432'; exit 1", RunStatus.COULD_NOT_TELL, ProblemKind.SERVICE),
        ("echo 'write: No space left on device'; exit 1", RunStatus.COULD_NOT_TELL, ProblemKind.RESOURCES),
        (
            "echo \"Error: Cannot find module 'left-pad'\"; exit 1",
            RunStatus.COULD_NOT_TELL,
            ProblemKind.IMPORT,
        ),
        ("echo all is well", RunStatus.COULD_NOT_TELL, ProblemKind.UNREADABLE),
        ("echo 'No tests found, exiting with code 0'", RunStatus.NO_TESTS, ProblemKind.NO_TESTS),
        ("echo 'Tests: 1 failed, 3 passed, 4 total'; exit 1", RunStatus.FAILED, None),
        ("echo 'Tests: 1 failed, 3 passed, 4 total'", RunStatus.COULD_NOT_TELL, ProblemKind.UNREADABLE),
        ("echo 'Tests: 4 passed, 4 total'", RunStatus.PASSED, None),
        ("echo 'Tests: 4 passed, 4 total'; exit 1", RunStatus.COULD_NOT_TELL, ProblemKind.UNREADABLE),
    ],
)
def test_any_other_command(
    tmp_path: Path, script: str, status: RunStatus, problem: ProblemKind | None
) -> None:
    observed = run(tmp_path, {"t.sh": script + "\n"}, command="bash t.sh")

    assert observed.run.status is status
    assert kind(observed) is problem


def test_a_missing_pytest_is_named(tmp_path: Path) -> None:
    binaries = tmp_path / "bin"
    binaries.mkdir()
    python = binaries / "python3"
    python.write_text(
        f'#!/bin/sh\nexec {shutil.which("python3", path="/usr/bin") or "/usr/bin/python3"} -S "$@"\n'
    )
    python.chmod(0o755)

    observed = run(tmp_path, {"test_a.py": "def test_x(): pass\n"}, path=f"{binaries}:/usr/bin:/bin")

    problem = diagnose(observed)
    assert observed.run.status is RunStatus.COULD_NOT_RUN
    assert problem is not None and problem.what == "tool missing: pytest"
    assert "No module named pytest" in problem.lines[0]


@pytest.mark.long
def test_an_unknown_option_of_a_missing_plugin_is_named(tmp_path: Path) -> None:
    files = {"test_a.py": "def test_x(): pass\n", "pytest.ini": "[pytest]\naddopts = --nocover=x\n"}
    observed = run(tmp_path, files)

    problem = diagnose(observed)
    assert problem is not None and problem.kind is ProblemKind.TOOL_MISSING
    assert "--nocover" in problem.lines[0]


@pytest.mark.long
def test_a_suite_that_is_red_for_its_own_reasons_is_no_environment_problem(tmp_path: Path) -> None:
    assert kind(run(tmp_path, {"test_a.py": "def test_x():\n    assert 0\n"})) is None


@pytest.mark.long
def test_a_suite_that_only_lacks_a_service_is_diagnosed(tmp_path: Path) -> None:
    source = "def test_x():\n    raise OSError('[Errno 111] Connection refused')\n"
    assert kind(run(tmp_path, {"test_a.py": source})) is ProblemKind.SERVICE


@pytest.mark.long
def test_a_report_that_is_a_symlink_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text('<testsuites><testsuite><testcase name="forged"/></testsuite></testsuites>')
    source = (
        "import os, sys\n\ndef test_x():\n"
        "    report = [a for a in sys.argv if 'xml=' in a][0].split('=', 1)[1]\n"
        f"    os.symlink({str(secret)!r}, report)\n"
        "    print('1 passed in 0.1s', flush=True)\n    os._exit(0)\n"
    )
    observed = run(tmp_path, {"test_a.py": source})

    assert observed.run.status is RunStatus.COULD_NOT_TELL
    assert not observed.run.passed_ids


@pytest.mark.long
def test_an_error_inside_pytest_is_no_failing_test(tmp_path: Path) -> None:
    broken = "def pytest_collection_modifyitems(items):\n    raise LookupError('no such mark')\n"
    observed = run(tmp_path, {"conftest.py": broken, "test_a.py": MIXED})

    assert observed.run.status is RunStatus.COULD_NOT_RUN
    problem = diagnose(observed)
    assert problem is not None and "LookupError: no such mark" in problem.what
    assert any("LookupError" in line for line in problem.lines)


@pytest.mark.long
def test_a_package_that_reads_its_own_metadata_is_diagnosed(tmp_path: Path) -> None:
    """Its name is no address either: `PackageNotFoundError` has ENOTFOUND in it."""
    source = "from importlib.metadata import version\n\n__version__ = version('no-such-package')\n"
    test = "import pkg\n\n\ndef test_version():\n    assert pkg.__version__\n"
    observed = run(tmp_path, {"pkg/__init__.py": source, "tests/test_pkg.py": test})

    problem = diagnose(observed)
    assert problem is not None and problem.kind is ProblemKind.IMPORT
    assert "`no-such-package` is not installed" in problem.what
    assert problem.lines
