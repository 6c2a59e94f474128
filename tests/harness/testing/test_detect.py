"""What is found in trees of the usual kinds."""

import json
from pathlib import Path

import pytest

from domain.repo_config import TestSection
from harness.testing.detect import detect
from harness.testing.plan import Runner, TestPlan

PYTEST_TEST = "def test_a():\n    assert True\n"
UNITTEST_TEST = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n"


def found(tmp_path: Path, files: dict[str, str], **section: object) -> TestPlan | None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return detect(tmp_path, TestSection.model_validate(section))


@pytest.mark.parametrize(
    ("files", "command", "runner", "why"),
    [
        ({"test_a.py": PYTEST_TEST}, "python3 -m pytest", Runner.PYTEST, "plain test functions"),
        (
            {"tests/test_a.py": UNITTEST_TEST, "conftest.py": ""},
            "python3 -m pytest",
            Runner.PYTEST,
            "conftest",
        ),
        (
            {"tests/test_a.py": UNITTEST_TEST, "pyproject.toml": "[tool.pytest.ini_options]\n"},
            "python3 -m pytest",
            Runner.PYTEST,
            "pyproject.toml",
        ),
        (
            {"test/test_a.py": UNITTEST_TEST, "tox.ini": "[pytest]\n"},
            "python3 -m pytest",
            Runner.PYTEST,
            "tox.ini",
        ),
        (
            {"tests/test_a.py": UNITTEST_TEST},
            "python3 -m unittest discover -s tests",
            Runner.UNITTEST,
            "unittest only",
        ),
        (
            {"tests/test_a.py": UNITTEST_TEST, "tests/__init__.py": ""},
            "python3 -m unittest discover -s tests -t .",
            Runner.UNITTEST,
            "unittest only",
        ),
        ({"test_a.py": UNITTEST_TEST}, "python3 -m unittest discover", Runner.UNITTEST, "unittest only"),
        (
            {"package.json": json.dumps({"scripts": {"test": "node --test"}})},
            "npm test",
            Runner.NODE,
            "node --test",
        ),
        ({"go.mod": "module x\n", "Makefile": "test:\n\tgo test\n"}, "go test ./...", Runner.GO, "go.mod"),
        ({"Cargo.toml": "[package]\n"}, "cargo test --offline", Runner.CARGO, "Cargo.toml"),
        ({"Makefile": "all:\n\techo\n\ntest: all\n\t./run\n"}, "make test", Runner.OUTPUT, "target `test`"),
        ({"Makefile": "test:\n\tpython3 -m pytest -q\n"}, "make test", Runner.PYTEST, "target `test`"),
    ],
)
def test_detection(tmp_path: Path, files: dict[str, str], command: str, runner: Runner, why: str) -> None:
    plan = found(tmp_path, files)

    assert plan is not None
    assert (plan.command, plan.runner) == (command, runner)
    assert why in plan.why
    assert plan.doubt == ""


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": "x"},
        {"a.py": "def test(): pass"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package.json": "not json"},
        {"package.json": "[]"},
        {"Makefile": "tests = 1\nall:\n\techo\n"},
        {"tests/test_data.py": "DATA = 1\n"},
        {"node_modules/x/test_a.py": PYTEST_TEST},
    ],
)
def test_no_tests_are_found_where_there_are_none(tmp_path: Path, files: dict[str, str]) -> None:
    assert found(tmp_path, files) is None


def test_a_source_layout_is_importable(tmp_path: Path) -> None:
    plan = found(
        tmp_path, {"src/pkg/__init__.py": "", "tests/test_a.py": PYTEST_TEST}, env={"X": "1", "CI": "0"}
    )

    assert plan is not None
    assert plan.env["PYTHONPATH"] == "/work/src:/work"
    assert plan.env["PYTHONHASHSEED"] == "0"
    assert (plan.env["X"], plan.env["CI"]) == ("1", "0")


def test_unittest_is_the_fallback_only_where_pytest_is_not_needed(tmp_path: Path) -> None:
    mixed = {"pytest.ini": "[pytest]\n", "tests/test_a.py": UNITTEST_TEST}
    plan = found(tmp_path, mixed)
    assert plan is not None and plan.fallback is not None and plan.fallback.runner is Runner.UNITTEST

    plan = found(tmp_path, {"tests/test_b.py": PYTEST_TEST})
    assert plan is not None and plan.fallback is None


@pytest.mark.parametrize(
    ("command", "runner", "direct"),
    [
        ("pytest -q", Runner.PYTEST, True),
        ("python3 -m pytest", Runner.PYTEST, True),
        ("pytest tests/unit", Runner.PYTEST, True),
        ("cd sub && pytest", Runner.PYTEST, True),
        ("pytest a && pytest b", Runner.OUTPUT, False),
        ("go test ./...", Runner.GO, True),
        ("./run-tests.sh", Runner.OUTPUT, False),
    ],
)
def test_a_configured_command_wins(tmp_path: Path, command: str, runner: Runner, direct: bool) -> None:
    plan = found(tmp_path, {"test_a.py": PYTEST_TEST}, command=command)

    assert plan is not None
    assert (plan.command, plan.runner, plan.direct) == (command, runner, direct)


@pytest.mark.parametrize(
    ("files", "command", "doubt"),
    [
        ({"package.json": '{"scripts": {"test": "jest || true"}}'}, None, "|| true"),
        ({"package.json": '{"scripts": {"test": "jest || true"}}'}, "npm test", "|| true"),
        ({"Makefile": "test:\n\t-pytest\n"}, None, "begins with `-`"),
        ({"Makefile": "test:\n\t$(PYTHON) -m pytest | tee log\n"}, None, "pipefail"),
        ({"Makefile": "test:\n\t./a; true\n"}, "make test", "replaces"),
        ({}, "pytest; exit 0", "exit 0"),
    ],
)
def test_a_script_that_hides_its_status_is_doubted(
    tmp_path: Path, files: dict[str, str], command: str | None, doubt: str
) -> None:
    plan = found(tmp_path, files, command=command)

    assert plan is not None
    assert doubt in plan.doubt


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "package.json").write_text('{"scripts": {"test": "evil"}}')
    (outside / "test_a.py").write_text(PYTEST_TEST)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "package.json").symlink_to(outside / "package.json")
    (tree / "tests").symlink_to(outside)
    (tree / "test_b.py").symlink_to(outside / "test_a.py")

    assert detect(tree, TestSection()) is None
