"""What broken environments print, and what is made of it; the repository's own faults are not theirs."""

from __future__ import annotations

import pytest

from domain.model import RunStatus, TestRun
from harness.testing.cases import Case, CaseOutcome, Observed
from harness.testing.diagnosis import EnvironmentProblem, ProblemKind, diagnose
from harness.testing.left_out import with_left_out
from harness.testing.problems import EnvironmentProblem as Problem
from harness.testing.signs import sign_in

CALLED = "subprocess.py:1026: in _execute_child\n    raise child_exception_type(errno_num)\nE   Error: "
TYPING = "ImportError: cannot import name 'TypeIs' from 'typing' (/usr/lib/python3.11/typing.py)"
VARIABLE = "test_a.py:2: in <module>\n    KEY=os.environ['API_KEY']\nE   KeyError: 'API_KEY'"


def red(*messages: str) -> Observed:
    cases = {
        f"t::{number}": Case(
            id=f"t::{number}", file="t", name=str(number), outcome=CaseOutcome.FAILED, message=message
        )
        for number, message in enumerate(messages)
    }
    run = TestRun(
        name="base",
        command="x",
        tree="t",
        status=RunStatus.FAILED,
        exit_code=1,
        seconds=1.0,
        passed=0,
        failed=len(messages),
        failed_ids=frozenset(cases),
    )
    return Observed(run=run, cases=cases, output="\n".join(messages))


@pytest.mark.parametrize(
    ("text", "kind", "named"),
    [
        ('The engine "node" is incompatible with this module. Expected ">=22".', "VERSION", "Expected"),
        ("npm error code EBADENGINE", "VERSION", "EBADENGINE"),
        ("go: go.mod requires go >= 1.23 (running go 1.19)", "VERSION", "1.23"),
        ("go.mod:3: invalid go version '1.99.1': must match format 1.23", "VERSION", "1.99.1"),
        ("error: package `x v1` requires rustc 1.99 or newer", "VERSION", "1.99"),
        ("java.lang.UnsupportedClassVersionError: T has been compiled", "VERSION", "Unsupported"),
        ("error: release version 21 not supported", "VERSION", "21"),
        ("Your Ruby version is 3.1.2, but your Gemfile specified >= 3.3", "VERSION", "3.3"),
        (TYPING, "VERSION", "TypeIs"),
        ("ModuleNotFoundError: No module named 'distutils'", "VERSION", "distutils"),
        ("n@workspace:.: This package doesn't seem to be present in your lockfile", "LOCKFILE", "lockfile"),
        ("error: the lock file /work/Cargo.lock needs to be updated but --locked", "LOCKFILE", "lock"),
        ("ERR_PNPM_OUTDATED_LOCKFILE  Cannot install", "LOCKFILE", "OUTDATED"),
        ("a.py:2: missing go.sum entry for module", "LOCKFILE", "go.sum"),
        (VARIABLE, "VARIABLE", "API_KEY"),
        ("Error: Environment variable DB_URL is not set", "VARIABLE", "DB_URL"),
        ('key not found: "SECRET" (KeyError)', "VARIABLE", "SECRET"),
        ("LookupError: setuptools-scm was unable to detect version for /work.", "PLACE", "setuptools-scm"),
        ("fatal: not a git repository (or any of the parent directories): .git", "PLACE", "git"),
        ("_tkinter.TclError: no display name and no $DISPLAY environment variable", "PLACE", "display"),
        ("qt.qpa.xcb: could not connect to display", "PLACE", "xvfb-run"),
        ("locale.Error: unsupported locale setting", "PLACE", "LC_ALL"),
        ("ZoneInfoNotFoundError: 'No time zone found with key Europe/Oslo'", "PLACE", "tzdata"),
        ("unknown time zone Europe/Oslo", "PLACE", "Oslo"),
        ("ImportError: libGL.so.1: cannot open shared object file", "TOOL_MISSING", "libGL.so.1"),
        ("a.c:1:10: fatal error: Python.h: No such file or directory", "TOOL_MISSING", "Python.h"),
        (CALLED + "[Errno 2] No such file or directory: 'pandoc'", "TOOL_MISSING", "pandoc"),
        ("Error: spawn convert ENOENT", "TOOL_MISSING", "convert"),
        ('exec: "protoc": executable file not found in $PATH', "TOOL_MISSING", "protoc"),
        ("make: protoc: No such file or directory", "TOOL_MISSING", "protoc"),
        ("Errno::ENOENT: No such file or directory - dot", "TOOL_MISSING", "dot"),
        ("ModuleNotFoundError: No module named 'pkg._version'", "IMPORT", "pkg._version"),
        ("cannot import name '_speedups' from partially initialized module 'pkg'", "IMPORT", "_speedups"),
        ("> No cached version of junit:junit:4.13 available for offline mode.", "IMPORT", "junit:junit"),
        ("lamp.go:3:8: module lookup disabled by GOPROXY=off", "IMPORT", "GOPROXY"),
        ("Could not find gem 'nokogiri' in locally installed gems.", "IMPORT", "nokogiri"),
        ('Cannot open file "/work/vendor/autoload.php".', "IMPORT", "autoload"),
        ("error: failed to get `serde` as a dependency of package", "IMPORT", "serde"),
        ("ERROR: Could not find a version that satisfies the requirement pytest (from", "IMPORT", "pytest"),
    ],
)  # fmt: skip
def test_a_sign_names_what_is_lacking(text: str, kind: str, named: str) -> None:
    problem = sign_in([f"line before\n{text}\nline after"])

    assert problem is not None and problem.kind is ProblemKind[kind]
    assert named in " ".join([problem.what, problem.fix, *problem.lines])
    assert problem.lines and problem.fix and "{}" not in problem.what + problem.fix


@pytest.mark.parametrize(
    "message",
    [
        "E   KeyError: 'USER_ID'",
        "E   FileNotFoundError: [Errno 2] No such file or directory: 'config.json'",
        "E   AssertionError: assert 'version' == 'version 2'",
        "E   SyntaxError: invalid syntax",
        "E   ImportError: cannot import name 'twice' from 'lamp' (/work/lamp.py)",
    ],
)
def test_the_repositorys_own_faults_are_not_the_environments(message: str) -> None:
    assert diagnose(red(message)) is None


def test_one_red_test_that_lacks_nothing_is_enough_to_go_on() -> None:
    lacking = "locale.Error: unsupported locale setting"

    problem = diagnose(red(lacking, lacking))
    assert problem is not None and problem.kind is ProblemKind.PLACE
    assert diagnose(red(lacking, "assert 1 == 2")) is None


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("MemoryError", ProblemKind.RESOURCES),
        ("OSError: [Errno 28] No space left on device", ProblemKind.RESOURCES),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock", ProblemKind.SERVICE),
        ('sqlalchemy: could not translate host name "db" to address', ProblemKind.SERVICE),
    ],
)
def test_all_red_for_want_of_resources_or_services(message: str, kind: ProblemKind) -> None:
    problem = diagnose(red(message))
    assert problem is not None and problem.kind is kind


# -- what a checkout leaves out -----------------------------------------------------------------------

MODULES = '[submodule "oil"]\n\tpath = vendor/oil\n\turl = https://example.org/oil\n'
GENERIC = Problem(kind=ProblemKind.IMPORT, what="x", lines=(), fix="Do this.")


def left_out(
    problem: EnvironmentProblem | None, observed: Observed | None, files: dict[str, str]
) -> EnvironmentProblem | None:
    return with_left_out(problem, observed, lambda path: files.get(path, ""))


def test_submodules_and_pointers_are_named_beside_a_diagnosis() -> None:
    files = {".gitmodules": MODULES, ".gitattributes": "*.png filter=lfs diff=lfs\n"}
    problem = left_out(GENERIC, None, files)

    assert problem is not None
    assert "Do this. Perhaps this is why: submodules (`vendor/oil`) are not checked out" in problem.fix
    assert "pointers" in problem.fix
    assert left_out(GENERIC, None, {}) is GENERIC


def test_a_suite_that_is_red_for_want_of_them_is_diagnosed() -> None:
    lacks = red("No such file: vendor/oil/oil.h", "cannot open /work/vendor/oil/a.txt")
    problem = left_out(None, lacks, {".gitmodules": MODULES})
    assert problem is not None and problem.kind is ProblemKind.PLACE and len(problem.lines) == 2

    pointer = red("cannot identify image: version https://git-lfs.github.com/spec/v1")
    assert left_out(None, pointer, {".gitattributes": "*.png filter=lfs\n"}) is not None
    assert left_out(None, red("assert 1 == 2"), {".gitmodules": MODULES}) is None
    assert left_out(None, pointer, {}) is None
