"""What is found in trees of the usual kinds."""

import json
from pathlib import Path

import pytest

from domain.repo_config import TestSection
from harness.testing.detect import detect
from harness.testing.plan import Reach, Runner, TestPlan
from harness.testing.prepared import prepare

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


# -- what stands behind a command ------------------------------------------------------------------


def package(script: str, **others: str) -> str:
    return json.dumps({"scripts": {"test": script, **others}})


@pytest.mark.parametrize(
    ("files", "command", "runner", "reach"),
    [
        ({"package.json": package("jest --ci")}, None, Runner.JEST, Reach.DASHES),
        ({"package.json": package("jest --ci")}, "npm t", Runner.JEST, Reach.DASHES),
        ({"package.json": package("jest --ci")}, "yarn test", Runner.JEST, Reach.SCRIPT),
        ({"package.json": package("jest --ci")}, "pnpm run test", Runner.JEST, Reach.SCRIPT),
        ({"package.json": package("tsc && vitest run")}, None, Runner.VITEST, Reach.DASHES),
        ({"package.json": package("vitest run && tsc")}, None, Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"package.json": package("mocha && eslint .")}, None, Runner.MOCHA, Reach.ENVIRONMENT),
        ({"package.json": package("mocha && jest")}, None, Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"package.json": package("c8 node --test")}, None, Runner.NODE, Reach.DASHES),
        ({"package.json": package("x", unit="jest")}, "npm run unit", Runner.JEST, Reach.DASHES),
        ({"package.json": package("npm run unit", unit="jest")}, None, Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"package.json": package("npm run unit", unit="mocha")}, None, Runner.MOCHA, Reach.ENVIRONMENT),
        ({"package.json": package("npm test")}, None, Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"a/package.json": package("jest")}, "cd a && npm test", Runner.JEST, Reach.DASHES),
        ({"a/package.json": package("jest")}, "npm --prefix a test", Runner.JEST, Reach.DASHES),
        ({"package.json": package("jest")}, "npm test -- --ci", Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"Makefile": "test:\n\tgo test ./...\n"}, "make test", Runner.GO, Reach.ENVIRONMENT),
        ({"Makefile": "P=python3\ntest:\n\t$(P) -m pytest\n"}, None, Runner.PYTEST, Reach.ENVIRONMENT),
        ({"Makefile": "test:\n\tjest\n"}, "make test", Runner.OUTPUT, Reach.ENVIRONMENT),
        ({"Makefile": "test: u\n\nu:\n\tpytest $(ARGS)\n"}, None, Runner.PYTEST, Reach.ENVIRONMENT),
        ({"Makefile": "test: ; go test ./...\n"}, None, Runner.GO, Reach.ENVIRONMENT),
        (
            {"package.json": package("npm run lint && npm run u", lint="eslint .", u="mocha")},
            None,
            Runner.MOCHA,
            Reach.ENVIRONMENT,
        ),
        ({}, "hatch run test", Runner.OUTPUT, Reach.ENVIRONMENT),
        ({}, "tox -e py311", Runner.PYTEST, Reach.ENVIRONMENT),
        ({}, "bundle exec rspec", Runner.RSPEC, Reach.CALL),
        ({}, "./mvnw -B test", Runner.MAVEN, Reach.CALL),
        ({"pom.xml": "", "mvnw": ""}, None, Runner.MAVEN, Reach.CALL),
        ({"build.gradle": "", "gradlew": ""}, None, Runner.GRADLE, Reach.CALL),
        ({}, "cargo nextest run", Runner.NEXTEST, Reach.CALL),
        ({}, "bash -c 'pytest'", Runner.PYTEST, Reach.CALL),
    ],
)
def test_the_runner_behind_a_command_is_found(
    tmp_path: Path, files: dict[str, str], command: str | None, runner: Runner, reach: Reach
) -> None:
    plan = found(tmp_path, files, command=command)

    assert plan is not None
    assert (plan.runner, plan.reach, plan.doubt) == (runner, reach, "")


@pytest.mark.parametrize(
    ("files", "command", "added"),
    [
        ({}, "jest --ci", "jest --ci --json --outputFile="),
        ({}, "jest --ci > log 2>&1", "jest --ci --json --outputFile=/tmp/fixwright-jest.json > log 2>&1"),
        ({}, "npx mocha && echo ok", "npx mocha --reporter json --reporter-option output="),
        ({}, "cargo test -- --test-threads=1", "cargo test --no-fail-fast -- --test-threads=1"),
        ({}, "cargo +nightly test --all", "cargo +nightly test --no-fail-fast --all"),
        ({}, "go test ./...", "go test -json -count=1 ./..."),
        ({}, "(cd a && go test -v ./...)", "(cd a && go test -json -count=1 -v ./... )"),
        ({"package.json": package("jest")}, "npm test", "npm test -- --json --outputFile="),
        ({"package.json": package("jest")}, "yarn test", "yarn test --json --outputFile="),
    ],
)
def test_options_are_added_where_they_belong(
    tmp_path: Path, files: dict[str, str], command: str, added: str
) -> None:
    plan = found(tmp_path, files, command=command)

    assert plan is not None
    assert prepare(plan).shown.startswith(added)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"tests/test_a.py": PYTEST_TEST, "package.json": package("jest")}, ("pytest", "npm test")),
        ({"go.mod": "module x", "Cargo.toml": "[package]"}, ("go test", "cargo test")),
        (
            {"a/package.json": package("jest"), "b/package.json": package("mocha")},
            ("cd a && npm test", "cd b && npm test"),
        ),
    ],
)
def test_several_suites_of_equal_rank_are_left_to_a_person(
    tmp_path: Path, files: dict[str, str], named: tuple[str, str]
) -> None:
    plan = found(tmp_path, files)

    assert plan is not None
    assert all(name in plan.doubt for name in named)
    assert "`test.command`" in plan.doubt


def test_a_suite_below_the_root_is_found(tmp_path: Path) -> None:
    plan = found(tmp_path, {"web/package.json": package("jest"), "README.md": ""})

    assert plan is not None
    assert (plan.command, plan.directory, plan.runner) == ("cd web && npm test", "web", Runner.JEST)
    assert prepare(plan, ["web/a.test.js"]).shown.endswith("--runTestsByPath ./a.test.js")
    assert "runTestsByPath" not in prepare(plan, ["web/a.test.js", "other/b.test.js"]).shown


def test_what_is_not_run_is_said(tmp_path: Path) -> None:
    plan = found(tmp_path, {"go.mod": "module x", "web/package.json": package("jest")})

    assert plan is not None and plan.runner is Runner.GO
    assert "not run with it: `cd web && npm test`" in plan.why


def test_examples_and_fixtures_are_no_suites(tmp_path: Path) -> None:
    files = {f"{place}/package.json": package("jest") for place in ("examples/a", "tests/fixtures", "docs")}

    assert found(tmp_path, files) is None


@pytest.mark.parametrize(
    ("files", "command", "doubt"),
    [
        ({".rspec": "--format doc\n--dry-run\n"}, "rspec", "dry run"),
        ({".mocharc.yml": "dry-run: true\n"}, "npx mocha", "dry run"),
        ({"package.json": package("mocha --dry-run")}, "npm test", "pretends"),
        ({"package.json": package("npm run u", u="jest || true")}, "npm test", "|| true"),
        ({"Makefile": ".IGNORE:\ntest:\n\tpytest\n"}, "make test", "ignores all failures"),
        ({"Makefile": "MAKEFLAGS += -i\ntest:\n\tpytest\n"}, "make test", "MAKEFLAGS"),
        ({"Makefile": "SHELL := /bin/true\ntest:\n\tpytest\n"}, "make test", "no shell"),
        ({"a/Makefile": "test:\n\tpytest || true\n"}, "make -C a test", "|| true"),
        ({"Makefile": "test: unit\n\nunit:\n\tpytest || true\n"}, "make test", "|| true"),
        ({"package.json": package("make test"), "Makefile": "test:\n\t-jest\n"}, "npm test", "begins with"),
    ],
)
def test_what_stands_behind_is_doubted(
    tmp_path: Path, files: dict[str, str], command: str, doubt: str
) -> None:
    plan = found(tmp_path, files, command=command)

    assert plan is not None
    assert doubt in plan.doubt


def test_variables_that_carry_options_are_doubted(tmp_path: Path) -> None:
    plan = found(tmp_path, {}, command="bundle exec rspec", env={"SPEC_OPTS": "--dry-run"})

    assert plan is not None and "--dry-run" in plan.doubt


def test_a_workspace_is_tested_whole(tmp_path: Path) -> None:
    plan = found(tmp_path, {"Cargo.toml": "[package]\n[workspace]\nmembers = ['a']\n"})

    assert plan is not None and plan.command.endswith("--workspace")


def test_scripts_that_call_one_another_without_end_are_left_at_once(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(40)]
    everything = " && ".join(f"npm run {name}" for name in names[:6])
    targets = " ".join(names)
    files = {
        "package.json": package(everything, **dict.fromkeys(names, everything)),
        "Makefile": "".join(f"{name}: {targets}\n\techo\n\n" for name in ("test", *names)),
    }

    assert found(tmp_path, files) is not None
    assert found(tmp_path, files, command="make test") is not None


PARTS = {
    "api/tests/test_a.py": PYTEST_TEST,
    "api/src/api/__init__.py": "",
    "web/package.json": '{"scripts": {"test": "jest"}}',
}


def test_one_part_of_a_monorepo_is_looked_at_alone(tmp_path: Path) -> None:
    found(tmp_path, PARTS)
    plan = detect(tmp_path, TestSection(), "api")
    assert plan is not None
    assert (plan.command, plan.runner, plan.place, plan.directory) == (
        "python3 -m pytest", Runner.PYTEST, "api", "api",
    )  # fmt: skip
    assert plan.env["PYTHONPATH"] == "/work/api/src:/work/api"
    ready = prepare(plan, ["api/tests/test_a.py"])
    assert ready.command.startswith("cd api || exit 127\n") and ready.shown.startswith("cd api && python3")
    assert "./tests/test_a.py" in ready.command or " tests/test_a.py" in ready.command
    other = detect(tmp_path, TestSection(), "web")
    assert other is not None and (other.runner, other.shown) == (Runner.JEST, "cd web && npm test")


def test_a_configured_command_runs_in_its_part_line_by_line(tmp_path: Path) -> None:
    found(tmp_path, {"my part/x": ""})
    plan = detect(tmp_path, TestSection(command="set -e\nmake test"), "my part")
    assert plan is not None
    assert prepare(plan).command.startswith("cd 'my part' || exit 127\n")
